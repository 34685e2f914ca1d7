-- Step records in full, with the one before them in their attempt [2.5].
--
-- record_id counts through all attempts, in the order of the attempt's records.
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
    * exclude (last_before, ended_before_ms),
    case when not is_first then last_before end as prev_last,
    case when not is_first then ended_before_ms end as prev_ended_ms
from followed
