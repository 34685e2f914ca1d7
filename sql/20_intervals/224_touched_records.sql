-- Records that a phase touches.
--
-- grain: record_key

-- Few records are near a phase: buckets of 16 s tell which, so that few are sorted. Records that
-- are longer than a bucket are always looked at.
with near as (
    select distinct
        attempt_id,
        unnest(range(started_ms // 16384 - 1, ended_ms // 16384 + 1)) as bucket
    from intervals.attempt_phases
),

candidates as (
    select visible.attempt_id, visible.record_key, visible.started_ms, visible.ended_ms
    from intervals.visible_records as visible
    semi join near
        on visible.attempt_id = near.attempt_id and visible.started_ms // 16384 = near.bucket
    where visible.ended_ms - visible.started_ms <= 16384

    union all

    select attempt_id, record_key, started_ms, ended_ms
    from intervals.visible_records
    where ended_ms - started_ms > 16384
)

-- Phases are disjoint: only the last one that began before the record's end can touch it.
select record.attempt_id, record.record_key
from candidates as record
asof join intervals.attempt_phases as phase
    on record.attempt_id = phase.attempt_id and record.ended_ms > phase.started_ms
where phase.ended_ms > record.started_ms
