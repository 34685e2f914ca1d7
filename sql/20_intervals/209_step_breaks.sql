-- Records that do not continue the one before them: the first of each attempt, and those before which
-- time or positions were left out or counted again [2.5].
--
-- All records between two breaks follow each other without a gap in time or position. Behind the last
-- record stands one more row, without an attempt, for where it ended.
--
-- grain: record_id

-- Windows stream over a table, but not over a join. Nearly all records continue the one before
-- them: little is asked of each, and the rest is made of those that are kept. attempt_id counts
-- from 1.
with followed as (
    select
        *,
        rowid,
        lag(attempt_id, 1, 0) over () as attempt_before,
        lag(last) over () as last_before,
        lag(ended_ms) over () as ended_before_ms
    from intervals.step_records
)

select
    rowid + 1 as record_id,
    attempt_id,
    last - more_count as first,
    ended_ms - duration_ms as started_ms,
    ended_ms,
    last_before,
    ended_before_ms,
    attempt_id <> attempt_before as is_first
from followed
where
    not (
        attempt_id = attempt_before
        and ended_ms - duration_ms = ended_before_ms
        and last - more_count = last_before + 1
    )

union all by name

select
    rowid + 2 as record_id,
    last as last_before,
    ended_ms as ended_before_ms,
    true as is_first
from intervals.step_records
where rowid = (select max(rowid) from intervals.step_records)
