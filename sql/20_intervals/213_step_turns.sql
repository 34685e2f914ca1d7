-- Where the counter of an attempt went back: the records before which that happened [2.5].
--
-- Positions only rise within a stretch: from one turn to the next.
--
-- grain: cut_key

select
    step.attempt_id,
    2 * step.record_id as cut_key,
    step.first - 1 as cut_to,
    step.started_ms as cut_ms,
    step.is_first
from intervals.step_breaks as step
inner join intervals.lineage_attempts as attempt using (attempt_id)
where case when step.is_first then attempt.resume_step else step.last_before end >= step.first
