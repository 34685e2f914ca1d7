-- Goodput: productive GPU time over paid, demanded, available and allocated time, and the span
-- that unobserved time leaves open (STANDARD 1.10). Numerators and denominators are GPU-seconds;
-- event_count is the number of jobs that held GPUs. Only allocated time belongs to a namespace, a
-- team or a job, so these have no other denominator.
--
-- grain: cluster, metric, scope, scope_value

with cells as (
    select cluster, 'fleet' as scope, '' as scope_value, gpu_time.* exclude (cluster)
    from rollups.gpu_time as gpu_time
    union all
    select cluster, 'pool' as scope, pool as scope_value, gpu_time.* exclude (cluster)
    from rollups.gpu_time as gpu_time
    where pool is not null
    union all
    select cluster, 'namespace' as scope, namespace as scope_value, gpu_time.* exclude (cluster)
    from rollups.gpu_time as gpu_time
    where namespace is not null
    union all
    select cluster, 'team' as scope, team as scope_value, gpu_time.* exclude (cluster)
    from rollups.gpu_time as gpu_time
    where team is not null
    union all
    -- A job's key is unique in its cluster only; a job that only serves has no goodput.
    select cluster, 'job' as scope, job as scope_value, gpu_time.* exclude (cluster)
    from rollups.gpu_time as gpu_time
    where job is not null and cluster <> '*' and state <> 'A.other'
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        sum(unit_ms) as paid,
        sum(case when is_productive then unit_ms else 0 end) as productive,
        sum(case when state = 'A.unknown' then unit_ms else 0 end) as unknown,
        sum(case when state in ('I.no_demand', 'A.other') then 0 else unit_ms end) as demand,
        sum(case when is_available then unit_ms else 0 end) as available,
        sum(case when is_allocated then unit_ms else 0 end) as allocated,
        count(distinct case when job is not null then (member, job) end) as job_count
    from cells
    group by cluster, scope, scope_value
),

ratios as (
    select 'goodput_paid' as metric, sums.*, productive as part, paid as whole
    from sums
    where scope in ('fleet', 'pool')
    union all
    select 'goodput_demand' as metric, sums.*, productive as part, demand as whole
    from sums
    where scope in ('fleet', 'pool')
    union all
    select 'goodput_available' as metric, sums.*, productive as part, available as whole
    from sums
    where scope in ('fleet', 'pool')
    union all
    select 'goodput_allocated' as metric, sums.*, productive as part, allocated as whole
    from sums
    union all
    select 'goodput_low' as metric, sums.*, productive as part, paid as whole
    from sums
    where scope in ('fleet', 'pool')
    union all
    select 'goodput_high' as metric, sums.*, productive + unknown as part, paid as whole
    from sums
    where scope in ('fleet', 'pool')
)

select
    metric,
    scope,
    scope_value,
    cast(part as double) / nullif(cast(whole as double), 0) as value,
    cast(null as double) as low,
    cast(null as double) as high,
    cast(part as double) / 5040000 as numerator,
    cast(whole as double) / 5040000 as denominator,
    cast(job_count as bigint) as event_count,
    'ratio' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from ratios
