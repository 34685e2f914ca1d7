-- Where the GPU time went: GPU-hours and their share of paid time, by state, by cause, by what the
-- node was meanwhile, and by who held it. The scope fleet is all paid time. Shares have GPU-seconds
-- underneath. Time without a cause is in no row of the scopes cause and domain.
--
-- grain: cluster, metric, scope, scope_value

with cells as (
    select cluster, 'fleet' as scope, '' as scope_value, unit_ms from rollups.gpu_time
    union all
    select cluster, 'state' as scope, state as scope_value, unit_ms from rollups.gpu_time
    union all
    select cluster, 'cause' as scope, cause as scope_value, unit_ms from rollups.gpu_time
    union all
    select cluster, 'domain' as scope, domain as scope_value, unit_ms
    from rollups.gpu_time
    where cause is not null
    union all
    select cluster, 'node_state' as scope, node_state as scope_value, unit_ms
    from rollups.gpu_time
    union all
    select cluster, 'pool' as scope, pool as scope_value, unit_ms from rollups.gpu_time
    union all
    select cluster, 'namespace' as scope, namespace as scope_value, unit_ms
    from rollups.gpu_time
    union all
    select cluster, 'team' as scope, team as scope_value, unit_ms from rollups.gpu_time
    union all
    select cluster, 'job' as scope, job as scope_value, unit_ms
    from rollups.gpu_time
    where cluster <> '*'
),

paid as (
    select
        cluster,
        sum(unit_ms) as paid
    from rollups.gpu_time
    group by cluster
),

sums as (
    select
        cells.cluster,
        cells.scope,
        cells.scope_value,
        sum(cells.unit_ms) as unit_ms,
        max(paid.paid) as paid
    from cells
    inner join paid on cells.cluster = paid.cluster
    where cells.scope_value is not null
    group by cells.cluster, cells.scope, cells.scope_value
)

select
    'gpu_hours' as metric,
    scope,
    scope_value,
    cast(unit_ms as double) / 18144000000 as value,
    cast(null as double) as low,
    cast(null as double) as high,
    cast(null as double) as numerator,
    cast(null as double) as denominator,
    cast(null as bigint) as event_count,
    'GPU-hours' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from sums
union all
select
    'gpu_share' as metric,
    scope,
    scope_value,
    cast(unit_ms as double) / nullif(cast(paid as double), 0) as value,
    cast(null as double) as low,
    cast(null as double) as high,
    cast(unit_ms as double) / 5040000 as numerator,
    cast(paid as double) / 5040000 as denominator,
    cast(null as bigint) as event_count,
    'ratio' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from sums
