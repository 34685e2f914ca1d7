-- Effective training time ratio as Meta defines it: wall time of productive (and slow) steps over
-- the time a job was queued or scheduled, summed over all attempts of the job (STANDARD 1.10). It
-- covers the life of the job so far, not the window. Numerators and denominators are seconds.
--
-- grain: cluster, job

with jobs as (
    select
        cluster,
        job
    from staged.jobs
    where kind = 'training'
),

scheduled as (
    select
        cluster,
        job,
        sum(coalesce(ms_of(ended_at), getvariable('as_of_ms')) - ms_of(started_at))
            as scheduled_ms
    from staged.attempts
    group by cluster, job
),

queued as (
    select
        cluster,
        job,
        sum(
            least(
                coalesce(ms_of(ended_at), getvariable('as_of_ms')), getvariable('as_of_ms')
            ) - ms_of(started_at)
        ) as queued_ms
    from staged.queue
    where not is_suspended
    group by cluster, job
),

effective as (
    select
        cluster,
        job,
        sum(ended_ms - started_ms) as effective_ms
    from intervals.attempt_timeline
    where state like 'A.productive.%' or state = 'A.slow'
    group by cluster, job
)

select
    jobs.cluster,
    jobs.job,
    coalesce(effective.effective_ms, 0) / 1000 as numerator,
    (scheduled.scheduled_ms + coalesce(queued.queued_ms, 0)) / 1000 as denominator,
    coalesce(effective.effective_ms, 0)
    / nullif(scheduled.scheduled_ms + coalesce(queued.queued_ms, 0), 0) as value
from jobs
inner join scheduled on jobs.cluster = scheduled.cluster and jobs.job = scheduled.job
left join queued on jobs.cluster = queued.cluster and jobs.job = queued.job
left join effective on jobs.cluster = effective.cluster and jobs.job = effective.job
