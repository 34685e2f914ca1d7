-- Time to repair (STANDARD 5.4): from the onset of a node's outage to its end, by class and by the
-- strongest repair action. mttr_hours is the mean over outages that ended inside the window, with the
-- summed hours underneath; outages that are still open are counted, not averaged. Median and 90th
-- percentile have them as censored (Kaplan and Meier), and are null while too few have ended. The
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
        coalesce(sum(span_ms) filter (where is_complete), 0) as span_ms
    from scoped
    group by cluster, scope, scope_value
),

quantile_names (metric, probability) as (
    values
    ('mttr_median_hours', 0.5),
    ('mttr_p90_hours', 0.9)
),

figures as (
    select
        'mttr_hours' as metric, cluster, scope, scope_value, event_count,
        cast(span_ms as double) / 3600000 / nullif(event_count, 0) as value,
        cast(null as double) as low,
        cast(null as double) as high,
        cast(span_ms as double) / 3600000 as numerator,
        cast(event_count as double) as denominator,
        'hours' as unit
    from sums
    union all
    select
        quantile_names.metric, sums.cluster, sums.scope, sums.scope_value, sums.event_count,
        quantiles.span_ms / 3600000 as value,
        quantiles.low_ms / 3600000 as low,
        quantiles.high_ms / 3600000 as high,
        cast(null as double) as numerator,
        cast(null as double) as denominator,
        'hours' as unit
    from sums
    cross join quantile_names
    left join rollups.span_quantiles as quantiles
        on
            sums.cluster = quantiles.cluster
            and sums.scope = quantiles.scope
            and sums.scope_value = quantiles.scope_value
            and quantile_names.probability = quantiles.probability
            and quantiles.measure = 'outage'
    union all
    select
        'open_outages' as metric, cluster, scope, scope_value, open_count as event_count,
        cast(open_count as double) as value,
        cast(null as double) as low,
        cast(null as double) as high,
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
    low,
    high,
    numerator,
    denominator,
    cast(event_count as bigint) as event_count,
    unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from figures
