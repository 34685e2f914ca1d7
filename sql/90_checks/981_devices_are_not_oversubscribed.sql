-- Devices whose pods asked for more than there is: an end was not observed and their shares were
-- scaled, or a pod asks for more devices than its node has [1.3].
--
-- grain: row
-- severity: warn

with shares as (
    select
        group_id,
        started_ms,
        ended_ms,
        unnest(held, recursive := true)
    from ledger.held_spans
    where len(held) > 1
)

select
    device.cluster,
    device.node_uid,
    device.gpus,
    instant_of(share.started_ms) as started_at,
    instant_of(share.ended_ms) as ended_at,
    list(named.pod_uid order by named.pod_uid) as pod_uids
from shares as share
inner join ledger.device_groups as device using (group_id)
inner join intervals.pod_devices as named using (pod_id)
inner join staged.pods as pod on named.cluster = pod.cluster and named.pod_uid = pod.pod_uid
group by all
having bool_or(share.unit_count < pod.unit_count)

union all

select
    pod.cluster,
    pod.node_uid,
    cast(range(node.gpus) as bigint[]) as gpus,
    pod.bound_at as started_at,
    pod.released_at as ended_at,
    [pod.pod_uid] as pod_uids
from staged.pods as pod
inner join staged.nodes as node using (cluster, node_uid)
where pod.gpus > node.gpus
