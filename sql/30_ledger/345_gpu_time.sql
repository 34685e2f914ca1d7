-- Where every paid GPU-millisecond of the window went, and why: the ledger.
--
-- Exactly one row for each share of a device at each instant; unit_ms = units ×
-- milliseconds, 5040 units a GPU. cause_job and cause_attempt name the attempt
-- whose end is charged, outage_started_at the outage. A committed GPU that was
-- never launched has no node; its gpu number only tells the missing ones apart.
--
-- grain: cluster, pool, node_uid, gpu, started_at, pod_uid
-- kind: view

select
    cluster,
    node_uid,
    node_name,
    pool,
    unnest(gpus) as gpu,
    started_at,
    ended_at,
    unit_ms // len(gpus) as unit_ms,
    state,
    cause,
    domain,
    node_state,
    job,
    attempt,
    namespace,
    pod_uid,
    cause_job,
    cause_attempt,
    outage_started_at,
    confidence
from ledger.group_time
