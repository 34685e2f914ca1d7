-- Records that a phase touches.
--
-- grain: record_key
-- nothing without: intervals.attempt_phases

-- Few records are near a phase. In an attempt whose records do not overlap, the ends of every 128th
-- tell which blocks of 128 can hold them, so that only the records of these are compared.
with block_ends as (
    select
        attempt_id,
        rowid >> 7 as block,
        ended_ms
    from intervals.step_records
    where rowid & 127 = 127
),

plain_phases as (
    select
        phase.attempt_id,
        phase.started_ms,
        phase.ended_ms,
        (pace.first_record_id - 1) >> 7 as first_block
    from intervals.attempt_phases as phase
    inner join intervals.attempt_pace as pace using (attempt_id)
    where pace.record_count > 0 and not pace.is_ragged
),

near as (
    select
        phase.attempt_id,
        phase.started_ms,
        phase.ended_ms,
        unnest(
            range(
                coalesce(before.block + 1, phase.first_block),
                coalesce(during.block + 1, phase.first_block) + 1
            )
        ) as block
    from plain_phases as phase
    asof left join block_ends as before
        on phase.attempt_id = before.attempt_id and phase.started_ms >= before.ended_ms
    asof left join block_ends as during
        on phase.attempt_id = during.attempt_id and phase.ended_ms > during.ended_ms
)

select distinct
    record.attempt_id,
    2 * (record.rowid + 1) as record_key
from intervals.step_records as record
inner join near
    on
        record.rowid >> 7 = near.block
        and record.attempt_id = near.attempt_id
        and record.ended_ms > near.started_ms
        and record.ended_ms - record.duration_ms < near.ended_ms

union all

-- Phases are disjoint: only the last one that began before the record's end can touch it.
select
    record.attempt_id,
    record.record_key
from intervals.filled_records as record
asof join intervals.attempt_phases as phase
    on record.attempt_id = phase.attempt_id and record.ended_ms > phase.started_ms
where phase.ended_ms > record.started_ms
