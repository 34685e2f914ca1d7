-- How many times a degrading condition of its nodes had come or gone when a record began; attempts
-- without such conditions have no rows [3.2].
--
-- grain: record_key

with turns as (
    select attempt_id, started_ms as turned_ms from intervals.degradations
    union
    select attempt_id, ended_ms from intervals.degradations where ended_ms < getvariable('forever_ms')
),

numbered as (
    select
        attempt_id,
        turned_ms,
        row_number() over (partition by attempt_id order by turned_ms) as zone
    from turns
)

select record.record_key, turn.zone
from (
    select visible.attempt_id, visible.record_key, visible.started_ms
    from intervals.visible_records as visible
    semi join turns using (attempt_id)
) as record
asof join numbered as turn
    on record.attempt_id = turn.attempt_id and record.started_ms >= turn.turned_ms
