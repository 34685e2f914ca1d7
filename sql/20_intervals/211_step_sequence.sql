-- Step records in full, with the one before them in their attempt [2.5].
--
-- record_id counts through all attempts, in the order of the attempt's records. cut_to is set where
-- the counter went back: positions above it are discarded before this record. Records of one run
-- follow each other without a gap in time or position.
--
-- grain: record_id
-- kind: view

with records as (
    select
        rowid + 1 as record_id,
        attempt_id,
        last - more_count as first,
        last,
        ended_ms - duration_ms as started_ms,
        ended_ms,
        setting_id
    from intervals.step_records
),

followed as (
    select
        *,
        lag(attempt_id) over () is distinct from attempt_id as is_first,
        lag(last) over () as last_before,
        lag(ended_ms) over () as ended_before_ms
    from records
)

select
    record.* exclude (last_before, ended_before_ms),
    case when not record.is_first then record.last_before end as prev_last,
    case when not record.is_first then record.ended_before_ms end as prev_ended_ms,
    case
        when record.is_first and attempt.resume_step >= record.first then record.first - 1
        when not record.is_first and record.last_before >= record.first then record.first - 1
    end as cut_to
from followed as record
inner join intervals.lineage_attempts as attempt using (attempt_id)
