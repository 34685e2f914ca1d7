-- Step records stand in the order of their attempts and times: later tables lean on it.
--
-- grain: row
-- severity: error

with followed as (
    select
        attempt_id,
        ended_ms,
        lag(attempt_id) over () as prev_attempt_id,
        lag(ended_ms) over () as prev_ended_ms
    from intervals.step_records
)

select *
from followed
where
    attempt_id < prev_attempt_id
    or (attempt_id = prev_attempt_id and ended_ms < prev_ended_ms)
