-- ML Productivity Goodput (arXiv 2502.06982) over this ledger: its scheduling, runtime and program
-- parts and their product, which equals goodput_paid (STANDARD 1.10). The program part is relative
-- to the fastest steps of the same job, not to a roofline. One row a part for the whole fleet, so
-- job is null; numerators and denominators are GPU-seconds.
--
-- grain: cluster, component

with sums as (
    select
        cluster,
        sum(unit_ms) as paid,
        sum(
            case
                when state in (
                    'A.startup', 'A.gang_wait', 'A.teardown', 'A.other', 'A.standby'
                ) then 0
                when state like 'A.%' then unit_ms
                else 0
            end
        ) as gang_up,
        sum(case when state like 'A.productive.%' then unit_ms else 0 end) as productive,
        sum(case when state = 'A.slow' then unit_ms else 0 end) as slow
    from ledger.window_totals
    group by cluster
),

parts as (
    select cluster, 'scheduling' as component, gang_up as part, paid as whole from sums
    union all
    select cluster, 'runtime' as component, productive + slow as part, gang_up as whole from sums
    union all
    select cluster, 'program' as component, productive as part, productive + slow as whole
    from sums
    union all
    select cluster, 'product' as component, productive as part, paid as whole from sums
)

select
    cluster,
    component,
    cast(null as varchar) as job,
    cast(part as double) / 5040000 as numerator,
    cast(whole as double) / 5040000 as denominator,
    cast(part as double) / nullif(cast(whole as double), 0) as value
from parts
