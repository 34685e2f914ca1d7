-- Degrading conditions of the nodes of each attempt.
--
-- grain: row
-- nothing without: intervals.condition_repairs

select distinct
    held.attempt_id,
    condition.class,
    condition.started_ms,
    condition.ended_ms
from (
    select distinct attempt.attempt_id, pod.cluster, pod.node_uid
    from staged.pods as pod
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
) as held
inner join intervals.condition_repairs as condition using (cluster, node_uid)
where condition.is_degrading
