-- For each committed checkpoint: is its execution still on
-- the retained path, or which cut discarded it.
--
-- cut_number is null while the execution is retained. A checkpoint whose step was never executed by
-- its attempt (it stands on no path) is left out.
--
-- grain: row
-- nothing without: staged.checkpoints

with checkpoints as (
    select
        attempt.attempt_id,
        attempt.lineage_id,
        checkpoint.step,
        ms_of(checkpoint.committed_at) as committed_ms,
        checkpoint.invalid_at is not null as is_invalid
    from staged.checkpoints as checkpoint
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    where checkpoint.committed_at is not null
),

stretches as (
    select distinct attempt_id, stretch_key from intervals.step_runs
),

-- Within a stretch positions only rise, so only one run of it can hold a step.
executions as (
    select checkpoint.*, run.first_key
    from (
        select checkpoints.*, stretches.stretch_key
        from checkpoints
        inner join stretches using (attempt_id)
    ) as checkpoint
    asof join intervals.step_runs as run
        on
            checkpoint.attempt_id = run.attempt_id
            and checkpoint.stretch_key = run.stretch_key
            and checkpoint.step >= run.first
    where checkpoint.step <= run.last
)

select distinct
    execution.lineage_id,
    execution.attempt_id,
    execution.step,
    execution.committed_ms,
    execution.is_invalid,
    discarded.cut_number
from executions as execution
left join intervals.discarded_spans as discarded
    on
        execution.first_key = discarded.first_key
        and execution.step between discarded.first and discarded.last
