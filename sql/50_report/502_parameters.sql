-- The parameters of the accounting standard as this build used them.
--
-- grain: name

select
    parameters.name,
    variables.value as value,
    parameters.unit,
    parameters.description,
    coalesce(variables.value, '') <> coalesce(cast(parameters.value as varchar), '') as is_changed
from catalog.parameters as parameters
left join duckdb_variables() as variables on parameters.name = variables.name
