-- For each checkpoint: is its execution still on the retained path, or which cut discarded it.
--
-- cut_number is null while the execution is retained. A checkpoint whose step was never executed by its
-- attempt (it stands on no path) is left out.
--
-- grain: row

select distinct
    checkpoint.cluster,
    record.lineage,
    checkpoint.job,
    checkpoint.attempt,
    checkpoint.step,
    epoch_ms(checkpoint.committed_at) as committed_ms,
    checkpoint.invalid_at is not null as is_invalid,
    discarded.cut_number
from staged.checkpoints as checkpoint
inner join intervals.filled_records as record
    on checkpoint.cluster = record.cluster
    and checkpoint.job = record.job
    and checkpoint.attempt = record.attempt
    and checkpoint.step between record.first and record.last
left join intervals.discarded_spans as discarded
    on record.cluster = discarded.cluster
    and record.job = discarded.job
    and record.attempt = discarded.attempt
    and record.filled_order = discarded.filled_order
    and checkpoint.step between discarded.first and discarded.last
where checkpoint.committed_at is not null
