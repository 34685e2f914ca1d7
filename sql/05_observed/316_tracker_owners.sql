-- Which job and attempt of the account each attempt that a foreign recorder saw belongs to.
--
-- A job that Kubernetes objects or imported tables know, by key or by name, keeps their nodes, pods
-- and attempts; the recorder then adds only what happened inside. Otherwise the recorder is all
-- there is, `is_alone` holds, and nodes and pods are made up for the ranks it names.
--
-- grain: cluster, recorder, job, attempt
-- nothing without: observed.tracker_attempt_ends

with

known_jobs as (
    select
        cluster,
        job,
        name
    from raw.jobs

    union

    select
        cluster,
        job,
        name
    from observed.jobs_kube
),

known_attempts as (
    select
        cluster,
        job,
        attempt,
        start
    from raw.attempts

    union

    select
        cluster,
        job,
        attempt,
        start
    from observed.attempts_kube
),

-- A gang is bound before its program starts, so a tracked attempt belongs to the newest attempt
-- that began before it, give or take the clocks; a name is used again and again.
candidates as (
    select
        ends.cluster,
        ends.recorder,
        ends.job,
        ends.attempt,
        known_jobs.job as owner_job,
        known_attempts.attempt as owner_attempt
    from observed.tracker_attempt_ends as ends
    inner join known_jobs
        on
            ends.cluster = known_jobs.cluster
            and (ends.job = known_jobs.job or ends.job = known_jobs.name)
    left join known_attempts
        on
            known_jobs.cluster = known_attempts.cluster
            and known_jobs.job = known_attempts.job
            and known_attempts.start <= coalesce(ends.ended_at, ends.log_ended_at)
    qualify
        row_number() over (
            partition by ends.cluster, ends.recorder, ends.job, ends.attempt
            order by
                known_attempts.start <= ends.started_at + to_seconds(getvariable('skew_s')) desc,
                known_attempts.start desc nulls last,
                known_jobs.job
        ) = 1
)

select
    ends.cluster,
    ends.recorder,
    ends.job,
    ends.attempt,
    coalesce(candidates.owner_job, ends.job) as owner_job,
    cast(
        case when candidates.owner_job is null then ends.attempt else candidates.owner_attempt end
        as integer
    ) as owner_attempt,
    candidates.owner_job is null as is_alone
from observed.tracker_attempt_ends as ends
left join candidates using (cluster, recorder, job, attempt)
