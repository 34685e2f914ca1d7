-- Time to repair (STANDARD 5.4): from the onset of a node's outage until it is back, by class and by the
-- strongest thing that was done: replace, reboot, reset, diag, drain or cordon. mttr_hours is the mean
-- over outages that ended inside the window, with the summed hours underneath; outages that are still
-- open are counted, not averaged. Median and 90th percentile have them as censored (Kaplan and Meier),
-- and are null while too few have ended. The fleet and its actions cover unplanned outages; a node's
-- first start is none.
--
-- grain: cluster, metric, scope, scope_value

with outages as (
    select
        clusters.cluster,
        stages.class,
        nullif(stages.step, 'none') as step,
        stages.is_unplanned,
        stages.back_ms - stages.started_ms as span_ms,
        stages.back_ms >= getvariable('window_start_ms')
        and stages.back_ms < getvariable('window_end_ms') as is_complete,
        stages.started_ms < getvariable('window_end_ms')
        and coalesce(stages.back_ms >= getvariable('window_end_ms'), true) as is_open
    from rollups.repair_stages as stages
    inner join rollups.clusters as clusters on stages.cluster = clusters.member
),

scoped as (
    select cluster, 'fleet' as scope, '' as scope_value, span_ms, is_complete, is_open
    from outages
    where is_unplanned
    union all
    select cluster, 'action' as scope, step as scope_value, span_ms, is_complete, is_open
    from outages
    where is_unplanned and step is not null
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

-- Where nothing ended, too.
quantiles as (
    select quantile_names.metric, sums.cluster, sums.scope, sums.scope_value, sums.event_count,
        quantile.span_ms, quantile.low_ms, quantile.high_ms
    from sums
    cross join quantile_names
    left join rollups.span_quantiles as quantile
        on
            sums.cluster = quantile.cluster
            and sums.scope = quantile.scope
            and sums.scope_value = quantile.scope_value
            and quantile_names.probability = quantile.probability
            and quantile.measure = 'outage'
),

figures as (
    select
        'mttr_hours' as metric, cluster, scope, scope_value, event_count,
        cast(span_ms as double) / 3600000 / nullif(event_count, 0) as value,
        cast(span_ms as double) / 3600000 as numerator,
        event_count as denominator,
        'hours' as unit
    from sums
    union all by name
    select * from in_hours(quantiles)
    union all by name
    select
        'open_outages' as metric, cluster, scope, scope_value, open_count as event_count,
        cast(open_count as double) as value,
        'count' as unit
    from sums
)

select * from metric_rows(figures)
