-- Every step record, with synthetic ones, and up to where no later record hides it.
--
-- grain: record_key
-- kind: view

select
    record.attempt_id,
    2 * (record.rowid + 1) as record_key,
    record.rowid + 2 - pace.first_record_id as place,
    record.last - record.more_count as first,
    record.last,
    record.ended_ms - record.duration_ms as started_ms,
    record.ended_ms,
    record.ended_ms as visible_end_ms,
    record.setting_id,
    false as is_synthetic
from intervals.step_records as record
inner join intervals.attempt_pace as pace using (attempt_id)
where not pace.is_ragged

union all by name

select * from intervals.filled_records
