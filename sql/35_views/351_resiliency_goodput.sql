-- Goodput of a job as AI-Hypercomputer/resiliency defines it: steps from the first load to the last
-- save, each at its ideal time, over the time from the job's first to its last event.
--
-- The ideal step time is parameter ideal_step_seconds; without it numerator and value are null. The
-- whole job counts, whatever the window. Numerator and denominator are seconds. A job that never
-- loaded a checkpoint counts from its first step, where the original gives 0.
--
-- grain: cluster, job

with

-- The recorder's own events are kept to the microsecond; staged instants are whole milliseconds.
recorded as (
    select
        events.cluster,
        owners.owner_job as job,
        min(events.t_us) as started_us,
        max(events.t_us) as ended_us
    from observed.tracker_events as events
    inner join (
        select distinct
            cluster,
            recorder,
            job,
            owner_job
        from observed.tracker_owners
    ) as owners using (cluster, recorder, job)
    where events.recorder = 'resiliency'
    group by events.cluster, owners.owner_job
),

attempted as (
    select
        cluster,
        job,
        min(resume_step) as loaded_step,
        epoch_us(min(started_at)) as started_us,
        epoch_us(max(coalesce(ended_at, getvariable('as_of')))) as ended_us
    from staged.attempts
    group by cluster, job
),

executed as (
    select
        attempt.cluster,
        attempt.job,
        min(run.first) - 1 as base_step
    from intervals.step_runs as run
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    group by attempt.cluster, attempt.job
),

saved as (
    select
        cluster,
        job,
        max(step) as saved_step
    from staged.checkpoints
    where committed_at is not null and invalid_at is null
    group by cluster, job
),

measured as (
    select
        cluster,
        job,
        greatest(
            0, coalesce(saved.saved_step - coalesce(attempted.loaded_step, executed.base_step), 0)
        ) * getvariable('ideal_step_seconds') as numerator,
        (
            coalesce(recorded.ended_us, attempted.ended_us)
            - coalesce(recorded.started_us, attempted.started_us)
        ) / 1000000 as denominator
    from attempted
    left join recorded using (cluster, job)
    left join executed using (cluster, job)
    left join saved using (cluster, job)
)

select
    cluster,
    job,
    cast(numerator as double) as numerator,
    cast(denominator as double) as denominator,
    cast(numerator / nullif(denominator, 0) as double) as value
from measured
