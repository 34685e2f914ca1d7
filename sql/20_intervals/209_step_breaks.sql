-- Records that do not continue the one before them: the first of each attempt, and those before which
-- time or positions were left out or counted again [2.5].
--
-- All records between two breaks follow each other without a gap in time or position. Behind the last
-- record stands one more row, without an attempt, for where it ended.
--
-- grain: record_id

-- Windows stream over a table, but not over a join.
with followed as (
    select
        rowid + 1 as record_id,
        attempt_id,
        last - more_count as first,
        ended_ms - duration_ms as started_ms,
        ended_ms,
        lag(attempt_id) over () as attempt_before,
        lag(last) over () as last_before,
        lag(ended_ms) over () as ended_before_ms
    from intervals.step_records
)

select
    * exclude (attempt_before),
    coalesce(attempt_id <> attempt_before, true) as is_first
from followed
where
    attempt_before is null
    or attempt_id <> attempt_before
    or started_ms <> ended_before_ms
    or first <> last_before + 1

union all by name

select
    rowid + 2 as record_id,
    last as last_before,
    ended_ms as ended_before_ms,
    true as is_first
from intervals.step_records
where rowid = (select max(rowid) from intervals.step_records)
