-- Long records inside segments that are not slow: what they took beyond one and a half times the
-- baseline. Reported, not booked [3.3].
--
-- grain: attempt_id, setting_id

with baselines as (
    select attempt_id, setting_id, any_value(baseline_ms) as baseline_ms
    from intervals.judged_segments
    group by attempt_id, setting_id
),

long_records as (
    select
        record.attempt_id,
        record.setting_id,
        record.record_key,
        2 * (record.ended_ms - record.started_ms)
        - 3 * (record.last - record.first + 1) * baselines.baseline_ms as half_ms
    from intervals.visible_records as record
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
from long_records
anti join intervals.touched_records using (record_key)
anti join intervals.slow_records using (record_key)
group by attempt_id, setting_id
