-- How each training job that ran in the window saves and restarts, and how often it is interrupted: what
-- the checkpoint interval that pays best is reckoned from [5.6].
--
-- interval_s: median time between checkpoints of one attempt. save_s: training time that one takes.
-- restart_s: median time from the start of a restarted attempt to its first step. queue_s: median wait
-- between an interruption and the restart. Interruptions are those that no owner could have
-- prevented; where the job has had fewer than five, those of its size count, and the failures of nodes
-- where these are few, too: `rate_basis` says which. exposure_hours is in hours of such a job.
--
-- grain: cluster, job

with attempts as (
    select
        attempt.*,
        pace.first_started_ms,
        pace.position_ms,
        coalesce(taxonomy.domain in ('infra', 'platform', 'unknown'), false)
        and taxonomy.counts_as like 'interruption%' as is_failure
    from intervals.lineage_attempts as attempt
    inner join intervals.attempt_pace as pace using (attempt_id)
    left join intervals.attribution as attribution using (cluster, job, attempt)
    left join catalog.taxonomy as taxonomy on attribution.class = taxonomy.class
    where attempt.job_kind = 'training'
),

restarts as (
    select
        cluster,
        job,
        count(*) filter (where is_failure) as failure_count,
        sum(known_end_ms - started_ms) / 3600000 as running_hours,
        median(first_started_ms - started_ms) filter (where prev_job is not null) / 1000
            as restart_s,
        median(started_ms - prev_ended_ms) filter (where prev_job is not null) / 1000 as queue_s,
        median(position_ms) / 1000 as step_s
    from attempts
    group by cluster, job
),

commits as (
    select
        cluster,
        job,
        median(gap_ms) / 1000 as interval_s,
        count(*) as checkpoint_count
    from (
        select
            cluster,
            job,
            attempt,
            committed_ms - lag(committed_ms) over (
                partition by cluster, job, attempt
                order by step
            ) as gap_ms
        from (
            select cluster, job, attempt, step, min(ms_of(committed_at)) as committed_ms
            from staged.checkpoints
            where committed_at is not null
            group by cluster, job, attempt, step
        )
    )
    group by cluster, job
),

saves as (
    select cluster, job, sum(ended_ms - started_ms) / 1000 as save_s
    from intervals.attempt_timeline
    where state = 'A.ckpt_save'
    group by cluster, job
),

members as (
    select cluster, job, attempt, count(distinct node_uid) as node_count
    from staged.pods
    where role = 'worker'
    group by cluster, job, attempt
),

-- The newest gang of the job.
gangs as (
    select
        cluster,
        job,
        arg_max(members.node_count, attempt) as node_count,
        arg_max(attempts.size, attempt) as size
    from members
    inner join rollups.attempts as attempts using (cluster, job, attempt)
    group by cluster, job
),

held as (
    select
        cluster,
        job,
        min(namespace) as namespace,
        sum(unit_ms) as unit_ms
    from rollups.gpu_time
    where cluster = member and is_allocated
    group by cluster, job
),

sizes as (
    select
        gangs.cluster,
        gangs.size,
        sum(restarts.failure_count) as failure_count,
        sum(restarts.running_hours) as running_hours
    from restarts
    inner join gangs using (cluster, job)
    group by gangs.cluster, gangs.size
),

nodes as (
    select
        health.cluster,
        sum(health.service_ms) / 3600000 as service_hours,
        (
            select count(distinct failed.incident)
            from rollups.node_failures as failed
            where failed.cluster = health.cluster
        ) as failure_count
    from rollups.node_health as health
    group by health.cluster
),

based as (
    select
        restarts.*,
        gangs.node_count,
        case
            when restarts.failure_count >= 5
                then {
                    'basis': 'job',
                    'failures': restarts.failure_count,
                    'hours': restarts.running_hours
                }
            when sizes.failure_count >= 5
                then {
                    'basis': 'jobs of this size',
                    'failures': sizes.failure_count,
                    'hours': sizes.running_hours
                }
            else {
                'basis': 'nodes',
                'failures': nodes.failure_count,
                'hours': nodes.service_hours / gangs.node_count
            }
        end as rate
    from restarts
    inner join gangs using (cluster, job)
    left join sizes using (cluster, size)
    left join nodes using (cluster)
)

select
    based.cluster,
    based.job,
    coalesce(job.name, based.job) as job_name,
    coalesce(job.namespace, held.namespace) as namespace,
    job.team,
    based.node_count,
    held.unit_ms / 5040 / 3600000 as gpu_hours,
    commits.interval_s,
    saves.save_s / nullif(commits.checkpoint_count, 0) as save_s,
    based.step_s,
    based.restart_s,
    based.queue_s,
    based.rate.basis as rate_basis,
    cast(based.rate.failures as bigint) as failure_count,
    cast(based.rate.hours as double) as exposure_hours
from based
inner join held using (cluster, job)
inner join staged.jobs as job using (cluster, job)
left join commits using (cluster, job)
left join saves using (cluster, job)
