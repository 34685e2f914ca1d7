-- What an interruption costs: the work that was thrown away and redone (lost_work_*), and all of it,
-- with detection, teardown, waiting and restart (interruption_cost_*), as the mean, the median and the
-- 90th percentile over the interruptions that ended an attempt inside the window. What owners asked for
-- is left out. Only what was paid inside the window is counted: an interruption near its end costs more
-- later. Numerators are GPU-hours.
--
-- grain: cluster, metric, scope, scope_value

with fleets as (
    select distinct cluster from rollups.clusters
),

lost_work as (
    select
        cluster,
        cause_job as job,
        cause_attempt as attempt,
        sum(unit_ms) as unit_ms
    from rollups.charged_time
    where
        state in ('A.lost.recompute', 'A.lost.rollback', 'A.lost.abandoned')
        and cause_attempt is not null
    group by cluster, cause_job, cause_attempt
),

interruptions as (
    select
        clusters.cluster,
        interruption.class,
        attempts.size,
        coalesce(cast(lost_work.unit_ms as double), 0) / 18144000000 as lost_work,
        cast(interruption.lost_gpu_ms as double) / 3600000 as cost
    from ledger.interruptions as interruption
    inner join rollups.clusters as clusters on interruption.cluster = clusters.member
    left join lost_work
        on
            interruption.cluster = lost_work.cluster
            and interruption.job = lost_work.job
            and interruption.attempt = lost_work.attempt
    left join rollups.attempts as attempts
        on
            interruption.cluster = attempts.cluster
            and interruption.job = attempts.job
            and interruption.attempt = attempts.attempt
    where interruption.domain not in ('user', 'baseline')
),

scoped as (
    select
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'class', 'scope_value': class},
            {'scope': 'job_size', 'scope_value': size}
        ], recursive := true),
        lost_work,
        cost
    from interruptions
    union all
    -- A fleet without interruptions has a row all the same.
    select cluster, 'fleet', '', null, null
    from fleets
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        count(cost) as event_count,
        sum(lost_work) as lost_work,
        sum(cost) as cost,
        median(lost_work) as lost_work_median,
        median(cost) as cost_median,
        quantile_cont(lost_work, 0.9) as lost_work_p90,
        quantile_cont(cost, 0.9) as cost_p90
    from scoped
    where scope_value is not null
    group by cluster, scope, scope_value
),

named as (
    select
        'lost_work_mean_gpu_hours' as metric, sums.*, lost_work as numerator,
        lost_work / nullif(event_count, 0) as value
    from sums
    union all
    select
        'lost_work_median_gpu_hours' as metric, sums.*, null as numerator,
        lost_work_median as value
    from sums
    union all
    select 'lost_work_p90_gpu_hours' as metric, sums.*, null as numerator, lost_work_p90 as value
    from sums
    union all
    select
        'interruption_cost_mean_gpu_hours' as metric, sums.*, cost as numerator,
        cost / nullif(event_count, 0) as value
    from sums
    union all
    select
        'interruption_cost_median_gpu_hours' as metric, sums.*, null as numerator,
        cost_median as value
    from sums
    union all
    select
        'interruption_cost_p90_gpu_hours' as metric, sums.*, null as numerator,
        cost_p90 as value
    from sums
),

figures as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        value,
        numerator as numerator,
        case when numerator is not null then cast(event_count as double) end as denominator,
        event_count,
        'GPU-hours' as unit
    from named
)

select * from metric_rows(figures)
