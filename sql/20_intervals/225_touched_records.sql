-- Records that a phase touches.
--
-- grain: record_key

-- Few records are near a phase: buckets of 16 s tell which, so that few are sorted. Records that
-- are longer than a bucket are always looked at; theirs is the bucket -1.
with near as (
    select
        attempt_id,
        unnest(range(started_ms // 16384 - 1, ended_ms // 16384 + 1)) as bucket
    from intervals.attempt_phases
    union
    select attempt_id, -1
    from intervals.attempt_phases
),

near_plain as (
    select
        record.attempt_id,
        2 * (record.rowid + 1) as record_key,
        record.ended_ms - record.duration_ms as started_ms,
        record.ended_ms
    from intervals.step_records as record
    semi join near
        on
            record.attempt_id = near.attempt_id
            and case
                when record.duration_ms > 16384 then -1
                else (record.ended_ms - record.duration_ms) // 16384
            end = near.bucket
),

candidates as (
    select near_plain.*
    from near_plain
    inner join intervals.attempt_pace as pace using (attempt_id)
    where not pace.is_ragged

    union all

    select attempt_id, record_key, started_ms, ended_ms
    from intervals.filled_records
)

-- Phases are disjoint: only the last one that began before the record's end can touch it.
select record.attempt_id, record.record_key
from candidates as record
asof join intervals.attempt_phases as phase
    on record.attempt_id = phase.attempt_id and record.ended_ms > phase.started_ms
where phase.ended_ms > record.started_ms
