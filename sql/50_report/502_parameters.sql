-- The parameters of the accounting standard as this build used them.
--
-- grain: name

select
    parameters.name,
    variables.value as value,
    parameters.unit,
    parameters.description,
    variables.value is distinct from parameters.value::varchar as is_changed
from catalog.parameters as parameters
left join duckdb_variables() as variables on parameters.name = variables.name
