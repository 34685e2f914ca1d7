-- Devices of a node that always share one fate: the same pods hold them, and the same conditions
-- speak of them. What is booked, is booked once for the group.
--
-- A group is named by its lowest device; group_id stands for it in the tables of pieces.
--
-- grain: cluster, node_uid, lead_gpu

-- Where every pod takes the whole node, all devices share its fate.
with split_nodes as (
    select cluster, node_uid
    from intervals.pod_devices
    where not is_whole
    group by cluster, node_uid
),

holders as (
    select cluster, node_uid, gpu, list(pod_id order by pod_id) as pods
    from (
        select cluster, node_uid, pod_id, unnest(devices) as gpu
        from intervals.pod_devices
        semi join split_nodes using (cluster, node_uid)
    )
    group by cluster, node_uid, gpu
)

select
    row_number() over (order by device.cluster, device.node_uid, min(device.gpu)) as group_id,
    device.cluster,
    device.node_uid,
    device.node_name,
    device.pool,
    device.node_id,
    device.profile,
    device.profile_id,
    min(device.gpu) as lead_gpu,
    list_sort(list(device.gpu)) as gpus,
    device.started_ms,
    device.ended_ms
from ledger.devices as device
left join holders using (cluster, node_uid, gpu)
group by
    device.cluster,
    device.node_uid,
    device.node_name,
    device.pool,
    device.node_id,
    device.profile,
    device.profile_id,
    device.started_ms,
    device.ended_ms,
    holders.pods
