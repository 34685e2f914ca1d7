-- Long records inside segments that are not slow: what they took beyond one and a half times the
-- baseline. Reported, not booked [3.3].
--
-- grain: attempt_id, setting_id

with baselines as (
    select attempt_id, setting_id, any_value(baseline_ms) as baseline_ms
    from intervals.judged_segments
    group by attempt_id, setting_id
),

-- Few are long: what else is asked of a record is asked of these.
long_records as (
    select
        record.attempt_id,
        record.setting_id,
        2 * (record.rowid + 1) as record_key,
        record.rowid + 1 as record_id,
        2 * record.duration_ms
        - 3 * (record.more_count + 1) * baselines.baseline_ms as half_ms
    from intervals.step_records as record
    inner join baselines using (attempt_id, setting_id)
    where half_ms > 0
),

judged as (
    select record.* exclude (record_id)
    from long_records as record
    inner join intervals.attempt_pace as pace using (attempt_id)
    where
        not pace.is_ragged
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
