-- Step records stand in the order of their attempts and times: later tables lean on it.
--
-- A record that is no break begins where the one before it in its attempt ended.
--
-- grain: row
-- severity: error

with followed as (
    select
        *,
        lag(attempt_id) over (order by record_id) as prev_attempt_id
    from intervals.step_breaks
)

select *
from followed
where attempt_id < prev_attempt_id or (not is_first and ended_ms < ended_before_ms)
