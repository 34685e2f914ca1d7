-- Devices with the span they are paid for, clipped to the window [1.1].
--
-- node_id stands for the node, profile_id for node and profile in the tables of pieces.
--
-- grain: cluster, node_uid, gpu

select
    node.cluster,
    node.node_uid,
    node.name as node_name,
    node.pool,
    device.gpu,
    device.profile,
    dense_rank() over (order by node.cluster, node.node_uid) as node_id,
    dense_rank() over (order by node.cluster, node.node_uid, device.profile) as profile_id,
    greatest(ms_of(node.paid_from), getvariable('window_start_ms')) as started_ms,
    least(end_ms(node.paid_to), getvariable('window_end_ms')) as ended_ms
from staged.nodes as node
inner join intervals.device_profiles as device using (cluster, node_uid)
where
    greatest(ms_of(node.paid_from), getvariable('window_start_ms'))
    < least(end_ms(node.paid_to), getvariable('window_end_ms'))
