-- Survival of attempts (STANDARD 5.1): the share of attempts that still run, or ended well, after so
-- many hours, and the hours after which half have failed. Kaplan and Meier's estimate: attempts that
-- run, succeeded or were stopped are censored, those that began before the window enter late.
-- event_count is the number of failures.
--
-- grain: cluster, metric, scope, scope_value

with fleets as (
    select distinct cluster from rollups.clusters
),

ages (hours) as (
    values (1), (6), (24), (72), (168)
),

curves as (
    select * from rollups.survival
    where measure = 'attempt'
),

-- Beyond the oldest attempt nothing is known.
reached as (
    select
        cluster,
        scope,
        scope_value,
        max(span_ms) as oldest_ms
    from curves
    group by cluster, scope, scope_value
),

at_ages as (
    select
        reached.cluster,
        ages.hours,
        coalesce(arg_max(curves.survival, curves.span_ms), 1) as survival,
        case when count(curves.span_ms) = 0 then 1 else arg_max(curves.low, curves.span_ms) end
            as low,
        case when count(curves.span_ms) = 0 then 1 else arg_max(curves.high, curves.span_ms) end
            as high,
        coalesce(sum(curves.event_count), 0) as event_count
    from reached
    cross join ages
    left join curves
        on
            reached.cluster = curves.cluster
            and curves.scope = 'fleet'
            and curves.span_ms <= 3600000 * ages.hours
    where reached.scope = 'fleet' and reached.oldest_ms >= 3600000 * ages.hours
    group by reached.cluster, ages.hours
),

medians as (
    select
        'attempt_survival_median_hours' as metric,
        cluster, scope, scope_value, event_count, span_ms, low_ms, high_ms
    from rollups.span_quantiles
    where measure = 'attempt' and probability = 0.5
    union all
    -- A fleet without attempts says so.
    select 'attempt_survival_median_hours', fleets.cluster, 'fleet', '', 0, null, null, null
    from fleets
    anti join rollups.span_quantiles as quantile
        on fleets.cluster = quantile.cluster and quantile.measure = 'attempt'
),

figures as (
    select
        'attempt_survival' as metric,
        cluster,
        'hours' as scope,
        cast(hours as varchar) as scope_value,
        survival as value,
        low,
        high,
        event_count,
        'ratio' as unit
    from at_ages
    union all by name
    select * from in_hours(medians)
)

select * from metric_rows(figures)
