-- Success of jobs and attempts that ended inside the window (STANDARD 5.1). What its owner stopped
-- is left out. infra_only_success_low takes failures of unknown cause for infrastructure,
-- infra_only_success_high does not. Numerators and denominators are counts, or GPU-seconds held
-- inside the window for *_success_gpu_hours, whose event_count are jobs, and whose interval tells how
-- much these differ (5.12). Jobs that still run are in no ratio: they are counted, with their mean age
-- in hours.
--
-- grain: cluster, metric, scope, scope_value

with fleets as (
    select distinct cluster from rollups.clusters
),

jobs as (
    select
        clusters.cluster,
        jobs.cluster as member,
        jobs.* exclude (cluster),
        ended_scopes(namespace, team, size, pool, instance_type, gpu_model) as scopes,
        jobs.is_success or jobs.is_failure as is_counted
    from rollups.ended_jobs as jobs
    inner join rollups.clusters as clusters on jobs.cluster = clusters.member
),

attempts as (
    select
        clusters.cluster,
        attempts.cluster as member,
        attempts.* exclude (cluster),
        ended_scopes(namespace, team, size, pool, instance_type, gpu_model) as scopes,
        attempts.outcome = 'succeeded' as is_success,
        attempts.outcome in ('failed', 'preempted', 'evicted', 'spot')
        and coalesce(attempts.domain <> 'user', true) as is_failure
    from rollups.attempts as attempts
    inner join rollups.clusters as clusters on attempts.cluster = clusters.member
    where attempts.is_ended
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

outcomes as (
    -- One row for each thing that ended and each ratio it counts in.
    select
        unnest(['job_success', 'infra_only_success_low', 'infra_only_success_high']) as metric,
        cluster,
        scopes,
        unnest([
            is_success,
            not is_failure or domain not in ('infra', 'platform', 'unknown'),
            not is_failure or domain not in ('infra', 'platform')
        ]) as is_success,
        1 as weight
    from jobs
    where is_counted
    union all
    select
        unnest(case when is_first then ['attempt_success', 'first_attempt_success'] else ['attempt_success'] end)
            as metric,
        cluster,
        scopes,
        is_success,
        1 as weight
    from attempts
    where is_success or is_failure
    union all
    -- A fleet in which nothing ended has no rate, and says so.
    select
        ratio_names.metric,
        fleets.cluster,
        [{'scope': 'fleet', 'scope_value': ''}] as scopes,
        null as is_success,
        0 as weight
    from fleets
    cross join ratio_names
),

scoped as (
    select
        metric,
        cluster,
        unnest(scopes, recursive := true),
        is_success,
        weight
    from outcomes
),

ratios as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        count(*) filter (where is_success) as part,
        sum(weight) as whole
    from scoped
    where scope_value is not null
    group by all
),

held as (
    select cluster, member, job, attempt, sum(unit_ms) as unit_ms
    from rollups.gpu_time
    where is_allocated and job is not null
    group by cluster, member, job, attempt
),

weighted as (
    select
        'job_success_gpu_hours' as metric,
        cluster,
        jobs.scopes,
        {'member': member, 'job': job} as owner,
        case when jobs.is_success then held.unit_ms else 0 end as part,
        held.unit_ms as whole
    from held
    inner join jobs using (cluster, member, job)
    where jobs.is_counted
    union all
    select
        'attempt_success_gpu_hours' as metric,
        cluster,
        attempts.scopes,
        {'member': member, 'job': job},
        case when attempts.is_success then held.unit_ms else 0 end,
        held.unit_ms
    from held
    inner join attempts using (cluster, member, job, attempt)
    where attempts.is_success or attempts.is_failure
    union all
    -- A fleet in which nothing ended has no rate, and says so.
    select
        weight_names.metric,
        fleets.cluster,
        [{'scope': 'fleet', 'scope_value': ''}],
        null,
        0,
        0
    from fleets
    cross join
        (values ('job_success_gpu_hours'), ('attempt_success_gpu_hours')) as weight_names (metric)
),

weights as (
    -- Attempts of one job are not independent.
    select metric, cluster, scope, scope_value, owner, sum(part) as part, sum(whole) as whole
    from (select * exclude (scopes), unnest(scopes, recursive := true) from weighted)
    where scope_value is not null
    group by metric, cluster, scope, scope_value, owner
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
            min(ms_of(started_at)) as started_ms
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
    select
        'jobs_ended' as metric,
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'outcome', 'scope_value': state}
        ], recursive := true),
        1 as n
    from jobs
    union all
    select
        'jobs_failed' as metric,
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'domain', 'scope_value': domain}
        ], recursive := true),
        1
    from jobs
    where state = 'failed'
    union all
    select
        'attempts_ended' as metric,
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'outcome', 'scope_value': outcome}
        ], recursive := true),
        1
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
        ratio(part, whole) as value,
        part as numerator,
        whole as denominator,
        whole as event_count,
        'ratio' as unit
    from ratios
    union all by name
    select
        metric, cluster, scope, scope_value, value, low, high,
        gpu_seconds(part) as numerator,
        gpu_seconds(whole) as denominator,
        owner_count as event_count,
        'ratio' as unit
    from jackknifed(weights)
    union all by name
    select
        'running_job_age_hours' as metric, fleets.cluster, 'fleet' as scope, '' as scope_value,
        cast(running.age_ms as double) / 3600000 / nullif(running.job_count, 0) as value,
        cast(coalesce(running.age_ms, 0) as double) / 3600000 as numerator,
        cast(coalesce(running.job_count, 0) as double) as denominator,
        coalesce(running.job_count, 0) as event_count,
        'hours' as unit
    from fleets
    left join running on fleets.cluster = running.cluster
    union all by name
    select
        metric, cluster, scope, scope_value,
        cast(n as double) as value,
        n as event_count,
        'count' as unit
    from counts
)

select * from metric_rows(figures)
