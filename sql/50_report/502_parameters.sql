-- The parameters of the accounting standard as this build used them. DuckDB lists a null variable as
-- the text NULL.
--
-- grain: name

select
    parameters.name,
    nullif(variables.value, 'NULL') as value,
    parameters.unit,
    parameters.description,
    nullif(variables.value, 'NULL') is distinct from cast(parameters.value as varchar) as is_changed
from catalog.parameters as parameters
left join duckdb_variables() as variables on parameters.name = variables.name
