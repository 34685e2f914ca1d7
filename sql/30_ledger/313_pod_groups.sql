-- The groups of devices each pod holds.
--
-- grain: pod_id, group_id

select pod.pod_id, device.group_id, device.profile_id
from intervals.pod_devices as pod
inner join ledger.device_groups as device using (cluster, node_uid)
where list_contains(pod.devices, device.lead_gpu)
