-- The attempts of the jobs in report.job_timeline that overlap the window: when they ran, the steps
-- they made, the buckets of the timeline in which a checkpoint was committed, and how they ended.
--
-- grain: cluster, job, attempt

with steps as (
    select
        attempt_id,
        min("first") as first_step,
        max("last") as last_step
    from intervals.step_runs
    group by attempt_id
),

checkpoints as (
    select
        checkpoint.cluster,
        checkpoint.job,
        checkpoint.attempt,
        count(*) as checkpoint_count,
        list(
            distinct (ms_of(checkpoint.committed_at) - getvariable('window_start_ms'))
            // timeline.bucket_ms
        ) as buckets
    from staged.checkpoints as checkpoint
    inner join report.job_timeline as timeline
        on checkpoint.cluster = timeline.cluster and checkpoint.job = timeline.job
    where
        checkpoint.committed_at >= getvariable('window_start')
        and checkpoint.committed_at < getvariable('window_end')
    group by checkpoint.cluster, checkpoint.job, checkpoint.attempt
)

select
    attempts.cluster,
    attempts.job,
    attempts.attempt,
    attempts.started_at,
    attempts.ended_at,
    attempts.outcome,
    interruptions.class,
    steps.first_step,
    steps.last_step,
    coalesce(checkpoints.checkpoint_count, 0) as checkpoint_count,
    list_sort(coalesce(checkpoints.buckets, [])) as checkpoint_buckets
from staged.attempts as attempts
inner join report.job_timeline as timeline
    on attempts.cluster = timeline.cluster and attempts.job = timeline.job
left join steps on attempts.attempt_id = steps.attempt_id
left join checkpoints
    on
        attempts.cluster = checkpoints.cluster
        and attempts.job = checkpoints.job
        and attempts.attempt = checkpoints.attempt
left join ledger.interruptions as interruptions
    on
        attempts.cluster = interruptions.cluster
        and attempts.job = interruptions.job
        and attempts.attempt = interruptions.attempt
where
    attempts.started_at < getvariable('window_end')
    and (attempts.ended_at is null or attempts.ended_at > getvariable('window_start'))
