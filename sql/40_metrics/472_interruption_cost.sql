-- What an interruption costs: the work that was thrown away and redone (lost_work_*), and all of it,
-- with detection, teardown, waiting and restart (interruption_cost_*), as the mean, the median and the
-- 90th percentile over the interruptions that ended an attempt inside the window. What owners asked for
-- is left out. Only what was paid inside the window is counted: an interruption near its end costs more
-- later. Numerators are GPU-hours.
--
-- Quantiles have the 95 % interval of order statistics, which holds whatever the costs are like, and no
-- end where there are too few for one. Means have none: a few large costs decide them.
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

measured as (
    select cluster, class, size, 'lost_work' as measure, lost_work as amount
    from interruptions
    union all
    select cluster, class, size, 'cost' as measure, cost as amount
    from interruptions
    union all
    -- A fleet without interruptions has a row all the same.
    select fleets.cluster, null, null, measures.measure, null
    from fleets
    cross join (values ('lost_work'), ('cost')) as measures (measure)
),

scoped as (
    select
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'class', 'scope_value': class},
            {'scope': 'job_size', 'scope_value': size}
        ], recursive := true),
        measure,
        amount
    from measured
),

ranked as (
    select
        *,
        count(amount) over (partition by cluster, scope, scope_value, measure) as n,
        row_number() over (
            partition by cluster, scope, scope_value, measure order by amount
        ) as rank
    from scoped
    where scope_value is not null
),

names (metric, measure, probability) as (
    values
    ('lost_work_mean_gpu_hours', 'lost_work', null),
    ('lost_work_median_gpu_hours', 'lost_work', 0.5),
    ('lost_work_p90_gpu_hours', 'lost_work', 0.9),
    ('interruption_cost_mean_gpu_hours', 'cost', null),
    ('interruption_cost_median_gpu_hours', 'cost', 0.5),
    ('interruption_cost_p90_gpu_hours', 'cost', 0.9)
),

-- How likely fewer than `rank` of n costs lie below the quantile: a binomial count.
placed as (
    select
        names.metric,
        names.probability,
        ranked.*,
        sum(
            exp(
                lgamma(n + 1) - lgamma(rank) - lgamma(n - rank + 2)
                + (rank - 1) * ln(probability) + (n - rank + 1) * ln(1 - probability)
            )
        ) over (
            partition by metric, cluster, scope, scope_value order by rank
        ) as chance_below
    from ranked
    inner join names using (measure)
    where ranked.amount is not null or ranked.n = 0
),

sums as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        count(amount) as event_count,
        any_value(probability) as probability,
        sum(amount) as amount,
        avg(amount) as mean,
        median(amount) as half,
        quantile_cont(amount, 0.9) as p90,
        max(amount) filter (where chance_below <= 0.025) as low,
        min(amount) filter (where chance_below >= 0.975) as high
    from placed
    group by metric, cluster, scope, scope_value
),

figures as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        case probability when 0.5 then half when 0.9 then p90 else mean end as value,
        low,
        high,
        case when probability is null then amount end as numerator,
        case when probability is null then cast(event_count as double) end as denominator,
        event_count,
        'GPU-hours' as unit
    from sums
)

select * from metric_rows(figures)
