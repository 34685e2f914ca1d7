-- The nodes and devices each attempt holds.
--
-- grain: cluster, job, attempt, pod_uid, gpu
-- kind: view

select
    pod.cluster,
    pod.job,
    pod.attempt,
    pod.pod_uid,
    pod.node_uid,
    unnest(held.devices) as gpu
from staged.pods as pod
inner join intervals.pod_devices as held using (cluster, pod_uid)
semi join intervals.lineage_attempts using (cluster, job, attempt)
