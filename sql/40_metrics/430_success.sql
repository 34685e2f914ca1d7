-- Success of jobs and attempts that ended inside the window (STANDARD 5.1). What its owner stopped
-- is left out. infra_only_success_low takes failures of unknown cause for infrastructure,
-- infra_only_success_high does not. Numerators and denominators are counts, or GPU-seconds held
-- inside the window for job_success_gpu_hours. Jobs that still run are in no ratio: they are
-- counted, with their mean age in hours.
--
-- grain: cluster, metric, scope, scope_value

with fleets as (
    select distinct cluster from rollups.clusters
),

jobs as (
    select
        clusters.cluster,
        ended_jobs.* exclude (cluster),
        ended_jobs.is_success or ended_jobs.is_failure as is_counted
    from rollups.ended_jobs as ended_jobs
    inner join rollups.clusters as clusters on ended_jobs.cluster = clusters.member
),

attempts as (
    select
        clusters.cluster,
        attempts.* exclude (cluster),
        attempts.outcome = 'succeeded' as is_success,
        attempts.outcome in ('failed', 'preempted', 'evicted', 'spot')
        and coalesce(attempts.domain <> 'user', true) as is_failure
    from rollups.attempts as attempts
    inner join rollups.clusters as clusters on attempts.cluster = clusters.member
    where attempts.is_ended
),

held as (
    select
        gpu_time.cluster,
        sum(case when ended_jobs.is_success then gpu_time.unit_ms else 0 end) as success_ms,
        sum(gpu_time.unit_ms) as unit_ms
    from rollups.gpu_time as gpu_time
    inner join rollups.ended_jobs as ended_jobs
        on gpu_time.member = ended_jobs.cluster and gpu_time.job = ended_jobs.job
    where gpu_time.is_allocated and (ended_jobs.is_success or ended_jobs.is_failure)
    group by gpu_time.cluster
),

outcomes as (
    -- One row for each thing that ended and each ratio it counts in.
    select 'job_success' as metric, cluster, namespace, team, is_success
    from jobs
    where is_counted
    union all
    select
        'infra_only_success_low' as metric, cluster, namespace, team,
        not is_failure or domain not in ('infra', 'platform', 'unknown') as is_success
    from jobs
    where is_counted
    union all
    select
        'infra_only_success_high' as metric, cluster, namespace, team,
        not is_failure or domain not in ('infra', 'platform') as is_success
    from jobs
    where is_counted
    union all
    select 'attempt_success' as metric, cluster, namespace, team, is_success
    from attempts
    where is_success or is_failure
    union all
    select 'first_attempt_success' as metric, cluster, namespace, team, is_success
    from attempts
    where (is_success or is_failure) and is_first
),

scoped as (
    select metric, cluster, 'fleet' as scope, '' as scope_value, is_success from outcomes
    union all
    select metric, cluster, 'namespace' as scope, namespace as scope_value, is_success
    from outcomes
    where namespace is not null
    union all
    select metric, cluster, 'team' as scope, team as scope_value, is_success
    from outcomes
    where team is not null
),

count_names (metric) as (
    values
    ('jobs_ended'),
    ('jobs_failed'),
    ('attempts_ended')
),

ratio_names (metric) as (
    values
    ('job_success'),
    ('infra_only_success_low'),
    ('infra_only_success_high'),
    ('attempt_success'),
    ('first_attempt_success')
),

ratios as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        count(*) filter (where is_success) as part,
        count(*) as whole
    from scoped
    group by all
    union all
    -- A fleet in which nothing ended has no rate, and says so.
    select
        ratio_names.metric,
        fleets.cluster,
        'fleet' as scope,
        '' as scope_value,
        0 as part,
        0 as whole
    from fleets
    cross join ratio_names
    anti join scoped
        on ratio_names.metric = scoped.metric and fleets.cluster = scoped.cluster
),

running as (
    select
        clusters.cluster,
        count(*) as job_count,
        sum(
            least(getvariable('window_end_ms'), getvariable('as_of_ms')) - first_starts.started_ms
        ) as age_ms
    from (
        select
            cluster,
            job,
            min(epoch_ms(started_at)) as started_ms
        from staged.attempts
        group by cluster, job
    ) as first_starts
    inner join staged.jobs as jobs
        on first_starts.cluster = jobs.cluster and first_starts.job = jobs.job
    inner join rollups.clusters as clusters on jobs.cluster = clusters.member
    where
        jobs.kind = 'training'
        and first_starts.started_ms < getvariable('window_end_ms')
        and coalesce(jobs.ended_at >= getvariable('window_end'), true)
    group by clusters.cluster
),

events as (
    select 'jobs_ended' as metric, cluster, 'fleet' as scope, '' as scope_value, 1 as n from jobs
    union all
    select 'jobs_ended' as metric, cluster, 'outcome' as scope, state as scope_value, 1 as n
    from jobs
    union all
    select 'jobs_failed' as metric, cluster, 'fleet' as scope, '' as scope_value, 1 as n
    from jobs
    where state = 'failed'
    union all
    select 'jobs_failed' as metric, cluster, 'domain' as scope, domain as scope_value, 1 as n
    from jobs
    where state = 'failed'
    union all
    select 'attempts_ended' as metric, cluster, 'fleet' as scope, '' as scope_value, 1 as n
    from attempts
    union all
    select 'attempts_ended' as metric, cluster, 'outcome' as scope, outcome as scope_value, 1 as n
    from attempts
    union all
    -- A fleet in which nothing ended says so.
    select count_names.metric, fleets.cluster, 'fleet' as scope, '' as scope_value, 0 as n
    from fleets
    cross join count_names
    union all
    select
        'running_jobs' as metric, fleets.cluster, 'fleet' as scope, '' as scope_value,
        coalesce(running.job_count, 0) as n
    from fleets
    left join running on fleets.cluster = running.cluster
),

counts as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        sum(n) as n
    from events
    group by metric, cluster, scope, scope_value
),

figures as (
    select
        metric, cluster, scope, scope_value,
        cast(part as double) / nullif(whole, 0) as value,
        cast(part as double) as numerator,
        cast(whole as double) as denominator,
        whole as event_count,
        'ratio' as unit
    from ratios
    union all
    select
        'job_success_gpu_hours' as metric, fleets.cluster, 'fleet' as scope, '' as scope_value,
        cast(held.success_ms as double) / nullif(cast(held.unit_ms as double), 0) as value,
        cast(coalesce(held.success_ms, 0) as double) / 5040000 as numerator,
        cast(coalesce(held.unit_ms, 0) as double) / 5040000 as denominator,
        cast(null as bigint) as event_count,
        'ratio' as unit
    from fleets
    left join held on fleets.cluster = held.cluster
    union all
    select
        'running_job_age_hours' as metric, fleets.cluster, 'fleet' as scope, '' as scope_value,
        cast(running.age_ms as double) / 3600000 / nullif(running.job_count, 0) as value,
        cast(coalesce(running.age_ms, 0) as double) / 3600000 as numerator,
        cast(coalesce(running.job_count, 0) as double) as denominator,
        coalesce(running.job_count, 0) as event_count,
        'hours' as unit
    from fleets
    left join running on fleets.cluster = running.cluster
    union all
    select
        metric, cluster, scope, scope_value,
        cast(n as double) as value,
        cast(null as double) as numerator,
        cast(null as double) as denominator,
        n as event_count,
        'count' as unit
    from counts
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
