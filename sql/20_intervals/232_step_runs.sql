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
    select record_key, bool_or(is_slow) as is_slow
    from (
        select record_key, true as is_slow from intervals.slow_records
        union all
        select record_key, false from intervals.touched_records
    )
    group by record_key
),

smooth as (
    select
        record.attempt_id,
        2 * record.record_id as record_key,
        record.first,
        record.last,
        record.started_ms,
        record.ended_ms,
        odd.record_key is not null or record.is_first or record.cut_to is not null as is_alone,
        coalesce(odd.is_slow, false) as is_slow,
        coalesce(
            record.prev_ended_ms = record.started_ms and record.prev_last + 1 = record.first, false
        ) as is_next
    from intervals.step_sequence as record
    inner join intervals.attempt_pace as pace using (attempt_id)
    left join odd on 2 * record.record_id = odd.record_key
    where not pace.is_ragged
),

compared as (
    select
        *,
        lag(is_alone) over () as is_alone_before,
        lag(record_key) over () as key_before,
        lag(last) over () as last_before,
        lag(ended_ms) over () as ended_before_ms
    from (
        select * from smooth
        union all by name
        -- One row beyond the last, which ends the last run.
        select true as is_alone
    )
),

-- A run begins where a record does not just go on, and ends with the record before the next one.
begun as (
    select *
    from compared
    where
        key_before is null
        or is_alone
        or is_alone_before
        or not is_next
        or key_before <> record_key - 2
),

ended as (
    select
        *,
        lead(key_before) over in_order as last_key,
        lead(last_before) over in_order as run_last,
        lead(ended_before_ms) over in_order as run_ended_ms
    from begun
    window in_order as (order by record_key nulls last)
),

runs as (
    select
        attempt_id,
        record_key as first_key,
        last_key,
        first,
        run_last as last,
        started_ms,
        run_ended_ms as ended_ms,
        run_ended_ms as visible_end_ms,
        is_slow,
        false as is_synthetic
    from ended
    where record_key is not null

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
        coalesce(odd.is_slow, false) as is_slow,
        record.is_synthetic
    from intervals.filled_records as record
    left join odd using (record_key)
)

select
    run.*,
    coalesce(turn.cut_key, 0) as stretch_key
from runs as run
asof left join (
    select * from intervals.step_turns
    where not is_first
) as turn
    on run.attempt_id = turn.attempt_id and run.first_key >= turn.cut_key
