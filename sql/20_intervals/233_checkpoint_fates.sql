-- For each committed checkpoint: is its execution still on
-- the retained path, or which cut discarded it.
--
-- cut_number is null while the execution is retained. A checkpoint whose step was never executed by
-- its attempt (it stands on no path) is left out.
--
-- grain: row

with checkpoints as (
    select
        attempt.attempt_id,
        attempt.lineage_id,
        checkpoint.step,
        epoch_ms(checkpoint.committed_at) as committed_ms,
        checkpoint.invalid_at is not null as is_invalid
    from staged.checkpoints as checkpoint
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    where checkpoint.committed_at is not null
),

-- Most records are of one position: an equality finds them. The few longer ones are searched.
executions as (
    select checkpoint.*, record.filled_order
    from checkpoints as checkpoint
    inner join intervals.filled_records as record
        on checkpoint.attempt_id = record.attempt_id and checkpoint.step = record.last

    union all

    select checkpoint.*, record.filled_order
    from checkpoints as checkpoint
    inner join (select * from intervals.filled_records where last > first) as record
        on
            checkpoint.attempt_id = record.attempt_id
            and checkpoint.step >= record.first
            and checkpoint.step < record.last
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
        execution.attempt_id = discarded.attempt_id
        and execution.filled_order = discarded.filled_order
        and execution.step between discarded.first and discarded.last
