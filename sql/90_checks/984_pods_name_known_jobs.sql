-- Pods of a job that no row of jobs describes: nothing says that they train, so their time is A.other.
--
-- grain: row
-- severity: warn

select pod.cluster, pod.pod_uid, pod.namespace, pod.name, pod.job
from staged.pods as pod
anti join staged.jobs as job using (cluster, job)
where pod.job is not null
