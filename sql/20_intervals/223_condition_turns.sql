-- The instants at which a degrading condition of the nodes of an attempt came or went, counted.
--
-- grain: attempt_id, turned_ms

select
    attempt_id,
    turned_ms,
    row_number() over (partition by attempt_id order by turned_ms) as turn
from (
    select attempt_id, started_ms as turned_ms from intervals.degradations
    union
    select attempt_id, ended_ms from intervals.degradations where ended_ms < getvariable('forever_ms')
)
