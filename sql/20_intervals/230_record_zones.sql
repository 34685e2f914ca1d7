-- How many times, when a record began, a degrading condition of its nodes had come or gone or the
-- pace of its world size and configuration had changed; attempts without such turns have no
-- rows [3.2].
--
-- grain: record_key

with changes as (
    select
        attempt_id,
        setting_id,
        turned_ms,
        row_number() over (partition by attempt_id, setting_id order by turned_ms) as turn
    from intervals.change_points
),

turned as (
    select attempt_id from intervals.condition_turns
    union
    select attempt_id from intervals.change_points
)

select
    record.attempt_id,
    record.record_key,
    coalesce(condition.turn, 0) + coalesce(change.turn, 0) as zone
from (
    select visible.attempt_id, visible.setting_id, visible.record_key, visible.started_ms
    from intervals.visible_records as visible
    semi join turned using (attempt_id)
) as record
asof left join intervals.condition_turns as condition
    on record.attempt_id = condition.attempt_id and record.started_ms >= condition.turned_ms
asof left join changes as change
    on
        record.attempt_id = change.attempt_id
        and record.setting_id = change.setting_id
        and record.started_ms >= change.turned_ms
