-- Where the counter of an attempt went back: the records before which that happened [2.5].
--
-- Positions only rise within a stretch: from one turn to the next.
--
-- grain: cut_key

select
    attempt_id,
    2 * record_id as cut_key,
    cut_to,
    started_ms as cut_ms,
    is_first
from intervals.step_sequence
where cut_to is not null
