-- Pod pieces joined with the state of their node: what is
-- booked on the pod's devices in the window.
--
-- After the attempt is over a node that is down beats teardown: that time goes to the node [1.4].
--
-- grain: cluster, pod_uid, profile, started_ms

with held as (
    select
        pod.cluster,
        pod.pod_uid,
        device.profile,
        list_sort(list(device.gpu)) as gpus
    from (
        select cluster, node_uid, pod_uid, unnest(devices) as gpu
        from intervals.pod_devices
    ) as pod
    inner join ledger.devices as device using (cluster, node_uid, gpu)
    group by pod.cluster, pod.pod_uid, device.profile
)

select
    piece.cluster,
    piece.pod_uid,
    piece.node_uid,
    piece.namespace,
    piece.job,
    piece.attempt,
    piece.is_training,
    held.profile,
    held.gpus,
    greatest(piece.started_ms, node.started_ms) as started_ms,
    least(piece.ended_ms, node.ended_ms) as ended_ms,
    piece.state,
    piece.cause,
    piece.cause_job,
    piece.cause_attempt,
    node.node_state
from ledger.pod_pieces as piece
inner join held using (cluster, pod_uid)
inner join ledger.node_pieces as node
    on
        piece.cluster = node.cluster
        and piece.node_uid = node.node_uid
        and held.profile = node.profile
        and piece.started_ms < node.ended_ms
        and piece.ended_ms > node.started_ms
where piece.state <> 'A.teardown' or node.node_state in ('available', 'cordoned', 'draining')
