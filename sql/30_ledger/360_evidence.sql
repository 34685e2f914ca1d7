-- What was considered for each interrupted attempt, and which observation decided.
--
-- grain: cluster, job, attempt, evidence_order

select
    evidence.cluster,
    evidence.job,
    evidence.attempt,
    evidence.evidence_order,
    evidence.observed_ms,
    evidence.source,
    evidence.value,
    evidence.signature,
    evidence.class,
    evidence.domain,
    evidence.role,
    evidence.strength,
    evidence.is_old,
    evidence.node_uid,
    evidence.pod_uid,
    evidence.rank,
    evidence.origin,
    evidence.origin_line,
    coalesce(attribution.picked_evidence = evidence.evidence_order, false) as is_picked
from intervals.attempt_evidence as evidence
inner join intervals.attribution as attribution using (cluster, job, attempt)
