-- Runtime goodput as NVIDIA's Cluster Readiness Engine computes it, a job at a time:
-- (training - lost - rescheduling - resuming - saving) / (training - rescheduling).
--
-- Training runs from the first step ever to the end of the job. Lost is the time from the last
-- finished checkpoint to an interruption, nothing if there was no checkpoint yet. Rescheduling runs
-- from the interruption to the start of the next application, resuming from there to its first
-- step; the first start counts as resuming too, although training begins only after it. A ratio
-- that would be negative is 0. Rescheduling leaves the denominator, so a cluster that cannot
-- reschedule looks better here than in this ledger. Numerators and denominators are seconds.
--
-- grain: cluster, job

with first_steps as (
    select
        attempt.cluster,
        attempt.job,
        attempt.attempt,
        pace.first_started_ms as first_step_ms,
        pace.last_ended_ms as last_step_ms
    from intervals.attempt_pace as pace
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    where pace.record_count > 0
),

starts as (
    select
        cluster,
        job,
        attempt,
        min(ms_of(running_at)) as running_ms
    from staged.pods
    where role = 'worker'
    group by cluster, job, attempt
),

attempts as (
    select
        attempts.cluster,
        attempts.job,
        attempts.attempt,
        attempts.outcome,
        -- The application's last sign of life is the interruption, not the controller's verdict.
        coalesce(first_steps.last_step_ms, ms_of(attempts.ended_at)) as stopped_ms,
        coalesce(starts.running_ms, ms_of(attempts.started_at)) as running_ms,
        first_steps.first_step_ms,
        attempts.ended_at is not null and attempts.outcome <> 'succeeded' as is_interrupted,
        lead(coalesce(starts.running_ms, ms_of(attempts.started_at))) over in_job
            as next_running_ms
    from staged.attempts as attempts
    left join first_steps
        on
            attempts.cluster = first_steps.cluster
            and attempts.job = first_steps.job
            and attempts.attempt = first_steps.attempt
    left join starts
        on
            attempts.cluster = starts.cluster
            and attempts.job = starts.job
            and attempts.attempt = starts.attempt
    window in_job as (
        partition by attempts.cluster, attempts.job
        order by attempts.started_at, attempts.attempt
    )
),

last_checkpoints as (
    select
        attempts.cluster,
        attempts.job,
        attempts.attempt,
        max(ms_of(checkpoints.committed_at)) as committed_ms
    from attempts
    inner join staged.checkpoints as checkpoints
        on
            attempts.cluster = checkpoints.cluster
            and attempts.job = checkpoints.job
            and ms_of(checkpoints.committed_at) <= attempts.stopped_ms
    where attempts.is_interrupted
    group by attempts.cluster, attempts.job, attempts.attempt
),

costs as (
    select
        attempts.cluster,
        attempts.job,
        sum(
            case
                when attempts.is_interrupted
                    then coalesce(attempts.stopped_ms - last_checkpoints.committed_ms, 0)
                else 0
            end
        ) as lost_ms,
        sum(
            case
                when attempts.is_interrupted
                    then greatest(coalesce(attempts.next_running_ms - attempts.stopped_ms, 0), 0)
                else 0
            end
        ) as rescheduling_ms,
        sum(greatest(coalesce(attempts.first_step_ms - attempts.running_ms, 0), 0))
            as resuming_ms,
        min(attempts.first_step_ms) as first_step_ms
    from attempts
    left join last_checkpoints
        on
            attempts.cluster = last_checkpoints.cluster
            and attempts.job = last_checkpoints.job
            and attempts.attempt = last_checkpoints.attempt
    group by attempts.cluster, attempts.job
),

saves as (
    select
        cluster,
        job,
        sum(ms_of(ended_at) - ms_of(started_at)) as saving_ms
    from staged.phases
    where kind = 'ckpt_save'
    group by cluster, job
),

last_ends as (
    select
        cluster,
        job,
        arg_max(stopped_ms, attempt) as stopped_ms,
        arg_max(is_interrupted, attempt) as is_interrupted
    from attempts
    group by cluster, job
),

terms as (
    select
        costs.cluster,
        costs.job,
        case
            when last_ends.is_interrupted then last_ends.stopped_ms
            else coalesce(ms_of(jobs.ended_at), getvariable('as_of_ms'))
        end - costs.first_step_ms as training_ms,
        costs.lost_ms + costs.resuming_ms + coalesce(saves.saving_ms, 0) as badput_ms,
        costs.rescheduling_ms
    from costs
    inner join staged.jobs as jobs on costs.cluster = jobs.cluster and costs.job = jobs.job
    inner join last_ends on costs.cluster = last_ends.cluster and costs.job = last_ends.job
    left join saves on costs.cluster = saves.cluster and costs.job = saves.job
    where jobs.kind = 'training' and costs.first_step_ms is not null
)

select
    cluster,
    job,
    greatest(training_ms - rescheduling_ms - badput_ms, 0) / 1000 as numerator,
    (training_ms - rescheduling_ms) / 1000 as denominator,
    case
        when training_ms - rescheduling_ms <= 0 then 0.0
        else
            cast(greatest(training_ms - rescheduling_ms - badput_ms, 0) as double)
            / (training_ms - rescheduling_ms)
    end as value
from terms
