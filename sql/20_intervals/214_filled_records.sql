-- Records of attempts whose log lines overlap or were lost, with synthetic ones for the lost [2.8].
--
-- record_key is twice the record_id; a synthetic record has the odd key before the record that
-- follows its hole. visible_end_ms: a later record hides the part of an earlier one that it
-- overlaps. place counts from 1 in the attempt.
--
-- grain: record_key

with ragged as (
    select record.*, pace.position_ms as pace_ms
    from intervals.step_sequence as record
    inner join intervals.attempt_pace as pace using (attempt_id)
    where pace.is_ragged
),

filled as (
    select
        attempt_id,
        2 * record_id as record_key,
        first,
        last,
        started_ms,
        ended_ms,
        setting_id,
        false as is_synthetic
    from ragged

    union all

    select
        attempt_id,
        2 * record_id - 1 as record_key,
        prev_last + 1,
        first - 1,
        prev_ended_ms,
        prev_ended_ms + least(
            started_ms - prev_ended_ms,
            (first - prev_last - 1) * greatest(1, pace_ms)
        ),
        setting_id,
        true
    from ragged
    where first > prev_last + 1 and started_ms > prev_ended_ms
)

select
    *,
    row_number() over (partition by attempt_id order by record_key) as place,
    least(
        ended_ms,
        min(started_ms) over (
            partition by attempt_id
            order by record_key
            rows between 1 following and unbounded following
        )
    ) as visible_end_ms
from filled
