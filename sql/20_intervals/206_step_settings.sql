-- World sizes and configurations that step records name and that are not their attempt's own.
--
-- Where a record names nothing it has those of its attempt; -1 and an empty text stand for unknown.
--
-- grain: setting_id

with named as (
    select distinct
        coalesce(step.world, attempt.world, -1) as world,
        coalesce(step.config, attempt.config, '') as config
    from staged.given_steps as step
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    where step.world is not null or step.config is not null
)

select
    cast(row_number() over (order by world, config) as integer) as setting_id,
    world,
    config
from named
