-- Imported pods that ran before they were bound: they have no start-up. Correct running_at, or bound_at.
--
-- grain: row
-- severity: warn

select pod.cluster, pod.pod_uid, pod.namespace, pod.name, pod.bound_at, pod.running_at
from staged.pods as pod
semi join raw.pods using (cluster, pod_uid)
where pod.running_at < pod.bound_at
