-- Time to repair (STANDARD 5.4): from the onset of a node's outage to its end, over outages that
-- ended inside the window, by class and by the strongest repair action. mttr_hours is the mean,
-- with the summed hours underneath. Outages that are still open are counted, not averaged. The
-- fleet and its actions cover unplanned outages; a node's first start is none.
--
-- grain: cluster, metric, scope, scope_value

with outages as (
    select
        clusters.cluster,
        node_outages.class,
        node_outages.action,
        not node_outages.planned
        and node_outages.domain <> 'baseline'
        and node_outages.class <> 'plat.maint' as is_unplanned,
        node_outages.ended_ms - node_outages.started_ms as span_ms,
        node_outages.ended_ms >= getvariable('window_start_ms')
        and node_outages.ended_ms < getvariable('window_end_ms') as is_complete,
        node_outages.started_ms < getvariable('window_end_ms')
        and coalesce(node_outages.ended_ms >= getvariable('window_end_ms'), true) as is_open
    from rollups.node_outages as node_outages
    inner join rollups.clusters as clusters on node_outages.cluster = clusters.member
    where not node_outages.is_birth
),

scoped as (
    select cluster, 'fleet' as scope, '' as scope_value, span_ms, is_complete, is_open
    from outages
    where is_unplanned
    union all
    select cluster, 'action' as scope, action as scope_value, span_ms, is_complete, is_open
    from outages
    where is_unplanned and action is not null
    union all
    select cluster, 'class' as scope, class as scope_value, span_ms, is_complete, is_open
    from outages
    where class is not null
    union all
    -- A fleet without outages has a row all the same.
    select distinct
        cluster, 'fleet' as scope, '' as scope_value,
        cast(null as bigint) as span_ms, false as is_complete, false as is_open
    from rollups.clusters
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        count(*) filter (where is_complete) as event_count,
        count(*) filter (where is_open) as open_count,
        coalesce(sum(span_ms) filter (where is_complete), 0) as span_ms,
        median(span_ms) filter (where is_complete) as median_ms,
        quantile_cont(span_ms, 0.9) filter (where is_complete) as p90_ms
    from scoped
    group by cluster, scope, scope_value
),

figures as (
    select
        'mttr_hours' as metric, cluster, scope, scope_value, event_count,
        cast(span_ms as double) / 3600000 / nullif(event_count, 0) as value,
        cast(span_ms as double) / 3600000 as numerator,
        cast(event_count as double) as denominator,
        'hours' as unit
    from sums
    union all
    select
        'mttr_median_hours' as metric, cluster, scope, scope_value, event_count,
        median_ms / 3600000 as value,
        cast(null as double) as numerator,
        cast(null as double) as denominator,
        'hours' as unit
    from sums
    union all
    select
        'mttr_p90_hours' as metric, cluster, scope, scope_value, event_count,
        p90_ms / 3600000 as value,
        cast(null as double) as numerator,
        cast(null as double) as denominator,
        'hours' as unit
    from sums
    union all
    select
        'open_outages' as metric, cluster, scope, scope_value, open_count as event_count,
        cast(open_count as double) as value,
        cast(null as double) as numerator,
        cast(null as double) as denominator,
        'count' as unit
    from sums
)

select
    metric,
    scope,
    scope_value,
    value,
    cast(null as double) as low,
    cast(null as double) as high,
    numerator,
    denominator,
    cast(event_count as bigint) as event_count,
    unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from figures
