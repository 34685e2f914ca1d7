-- Attempts in the order of their run lineage, with the
-- attempt before and the start of the next [0.2].
--
-- lineage_id stands for the long key; it holds for one build only. looked_ms is when somebody last looked at
-- the log and the pods of an attempt that is still open; null where that is not known.
--
-- grain: cluster, job, attempt

select
    attempt.attempt_id,
    dense_rank() over (order by attempt.cluster, job.lineage) as lineage_id,
    attempt.cluster,
    attempt.job,
    attempt.attempt,
    job.lineage,
    row_number() over in_lineage as attempt_order,
    count(*) over (partition by attempt.cluster, job.lineage) as lineage_length,
    ms_of(attempt.started_at) as started_ms,
    ms_of(attempt.ended_at) as ended_ms,
    coalesce(ms_of(attempt.ended_at), getvariable('as_of_ms')) as known_end_ms,
    ms_of(look.known_until) as looked_ms,
    attempt.outcome,
    attempt.ended_at is not null
    and attempt.outcome not in ('succeeded', 'running') as is_interrupted,
    attempt.resume_step,
    attempt.min_members,
    attempt.restart_kind,
    attempt.world,
    attempt.config,
    job.state as job_state,
    job.kind as job_kind,
    attempt.is_instrumented,
    lag(attempt.job) over in_lineage as prev_job,
    lag(attempt.attempt) over in_lineage as prev_attempt,
    lag(ms_of(attempt.ended_at)) over in_lineage as prev_ended_ms,
    lead(ms_of(attempt.started_at)) over in_lineage as next_started_ms
from staged.attempts as attempt
inner join staged.jobs as job using (cluster, job)
left join staged.log_looks as look using (cluster, job, attempt)
window in_lineage as (
    partition by attempt.cluster, job.lineage
    order by attempt.started_at, attempt.attempt, attempt.job
)
