-- Pods that hold GPUs on a node nobody reported: their time is in no ledger row.
--
-- grain: row
-- severity: warn

select distinct pod.cluster, pod.pod_uid, pod.namespace, pod.name, pod.node_uid
from gathered.pods as pod
anti join staged.nodes using (cluster, node_uid)
where coalesce(pod.gpus, 0) > 0 and pod.node_uid is not null
