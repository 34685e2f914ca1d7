-- Allocated time is the units the pods held, less the
-- teardown that lost to a node that was down [C3].
--
-- Devices on which the pods asked for more than there is are left out: their shares were scaled.
--
-- grain: row
-- severity: error

with crowded as (
    select distinct cluster, node_uid, gpu
    from ledger.held_spans
    where free_units = 0 and len(held) > 1
),

pod_devices as (
    select held.cluster, held.node_uid, held.pod_uid, unnest(held.devices) as gpu
    from intervals.pod_devices as held
),

held_time as (
    select
        device.cluster,
        device.node_uid,
        device.gpu,
        sum(pod.unit_count * greatest(
            least(end_ms(pod.released_at), device.ended_ms)
            - greatest(epoch_ms(pod.bound_at), device.started_ms),
            0
        )) as unit_ms
    from pod_devices
    inner join staged.pods as pod using (cluster, pod_uid)
    inner join ledger.devices as device
        on
            pod_devices.cluster = device.cluster
            and pod_devices.node_uid = device.node_uid
            and pod_devices.gpu = device.gpu
    group by device.cluster, device.node_uid, device.gpu
),

dropped_time as (
    select
        device.cluster,
        device.node_uid,
        device.gpu,
        sum(pod.unit_count * (
            least(piece.ended_ms, node.ended_ms) - greatest(piece.started_ms, node.started_ms)
        )) as unit_ms
    from ledger.pod_pieces as piece
    inner join staged.pods as pod using (cluster, pod_uid)
    inner join pod_devices using (cluster, pod_uid)
    inner join ledger.devices as device
        on
            pod_devices.cluster = device.cluster
            and pod_devices.node_uid = device.node_uid
            and pod_devices.gpu = device.gpu
    inner join ledger.node_pieces as node
        on
            device.cluster = node.cluster
            and device.node_uid = node.node_uid
            and device.profile = node.profile
            and piece.started_ms < node.ended_ms
            and piece.ended_ms > node.started_ms
    where
        piece.state = 'A.teardown'
        and node.node_state not in ('available', 'cordoned', 'draining')
    group by device.cluster, device.node_uid, device.gpu
),

booked_time as (
    select cluster, node_uid, gpu, sum(unit_ms) as unit_ms
    from ledger.gpu_time
    where state like 'A.%'
    group by cluster, node_uid, gpu
)

select
    held_time.cluster,
    held_time.node_uid,
    held_time.gpu,
    held_time.unit_ms as held_unit_ms,
    coalesce(dropped_time.unit_ms, 0) as dropped_unit_ms,
    coalesce(booked_time.unit_ms, 0) as booked_unit_ms
from held_time
anti join crowded using (cluster, node_uid, gpu)
left join dropped_time using (cluster, node_uid, gpu)
left join booked_time using (cluster, node_uid, gpu)
where held_time.unit_ms - coalesce(dropped_time.unit_ms, 0) <> coalesce(booked_time.unit_ms, 0)
