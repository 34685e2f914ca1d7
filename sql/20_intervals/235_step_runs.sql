-- Step records in runs: stretches without a gap in time or position, and nothing odd in them.
--
-- The first record of an attempt, one where the counter went back, one that a phase touches, a slow
-- one, a synthetic one and one that is partly hidden are runs by themselves. So a run of several
-- records is what a long quiet stretch of training comes to, and the fate of its positions can be
-- told without looking at its records. Positions only rise within a stretch; stretch_key is the
-- record_key at which the last cut within the attempt stands, 0 before the first.
--
-- grain: first_key

with odd as (
    select 2 * first_record_id as record_key from intervals.attempt_pace where record_count > 0
    union
    select cut_key from intervals.step_turns
    union
    select record_key from intervals.touched_records
    union
    select record_key from intervals.slow_records
),

-- Odd records begin a run, and so do those after them.
borders as (
    select record_key from odd
    union
    select record_key + 2 from odd
),

-- Those that continue the record before them: nothing but their fate makes them borders.
seams as (
    select borders.record_key // 2 - 1 as place
    from borders
    anti join intervals.step_breaks as step on borders.record_key = 2 * step.record_id
    where borders.record_key % 2 = 0
),

begun as (
    select
        2 * record_id as record_key,
        attempt_id,
        first,
        started_ms,
        last_before,
        ended_before_ms
    from intervals.step_breaks

    union all

    select
        2 * (record.rowid + 1) as record_key,
        record.attempt_id,
        record.last - record.more_count as first,
        record.ended_ms - record.duration_ms as started_ms,
        record.last - record.more_count - 1 as last_before,
        record.ended_ms - record.duration_ms as ended_before_ms
    from intervals.step_records as record
    semi join seams on record.rowid = seams.place
),

-- A run ends with the record before the next one.
ended as (
    select
        begun.*,
        lead(record_key) over in_order - 2 as last_key,
        lead(last_before) over in_order as last,
        lead(ended_before_ms) over in_order as ended_ms
    from begun
    window in_order as (order by record_key)
),

runs as (
    select
        ended.attempt_id,
        ended.record_key as first_key,
        ended.last_key,
        ended.first,
        ended.last,
        ended.started_ms,
        ended.ended_ms,
        ended.ended_ms as visible_end_ms,
        false as is_synthetic
    from ended
    inner join intervals.attempt_pace as pace using (attempt_id)
    where not pace.is_ragged

    union all by name

    select
        record.attempt_id,
        record.record_key as first_key,
        record.record_key as last_key,
        record.first,
        record.last,
        record.started_ms,
        record.ended_ms,
        record.visible_end_ms,
        record.is_synthetic
    from intervals.filled_records as record
)

select
    run.*,
    slow.record_key is not null as is_slow,
    coalesce(turn.cut_key, 0) as stretch_key
from runs as run
asof left join (
    select * from intervals.step_turns
    where not is_first
) as turn
    on run.attempt_id = turn.attempt_id and run.first_key >= turn.cut_key
left join intervals.slow_records as slow on run.first_key = slow.record_key
