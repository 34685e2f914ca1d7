-- Long records inside segments that are not slow: what they took beyond one and a half times the
-- baseline. Reported, not booked [3.3].
--
-- grain: attempt_id, setting_id

with baselines as (
    select attempt_id, setting_id, any_value(baseline_ms) as baseline_ms
    from intervals.judged_segments
    group by attempt_id, setting_id
),

least_baselines as (
    select attempt_id, 3 * min(baseline_ms) // 2 as long_ms
    from intervals.judged_segments
    group by attempt_id
),

-- Few are long, even against the least baseline of their attempt and in whole milliseconds: what
-- else is asked of a record is asked of these.
long_records as (
    select
        record.attempt_id,
        record.setting_id,
        record.rowid + 1 as record_id,
        record.duration_ms,
        record.more_count + 1 as position_count
    from intervals.step_records as record
    inner join least_baselines as least using (attempt_id)
    where position_ms(record.duration_ms, record.more_count) >= least.long_ms
),

judged as (
    select
        record.attempt_id,
        record.setting_id,
        2 * record.record_id as record_key,
        2 * record.duration_ms - 3 * record.position_count * baselines.baseline_ms as half_ms
    from long_records as record
    inner join baselines using (attempt_id, setting_id)
    inner join intervals.attempt_pace as pace using (attempt_id)
    where
        half_ms > 0
        and not pace.is_ragged
        and record.record_id >= pace.first_record_id + getvariable('warmup_rows')

    union all

    select
        record.attempt_id,
        record.setting_id,
        record.record_key,
        2 * (record.ended_ms - record.started_ms)
        - 3 * (record.last - record.first + 1) * baselines.baseline_ms as half_ms
    from intervals.filled_records as record
    inner join baselines using (attempt_id, setting_id)
    where
        record.place > getvariable('warmup_rows')
        and not record.is_synthetic
        and half_ms > 0
)

select
    attempt_id,
    setting_id,
    count(*) as record_count,
    cast(sum(half_ms) // 2 as bigint) as jitter_ms
from judged
anti join intervals.touched_records using (record_key)
anti join intervals.slow_records using (record_key)
group by attempt_id, setting_id
