-- Units of each device that no pod holds, with the state of the node.
--
-- grain: cluster, node_uid, gpu, started_ms

select
    span.cluster,
    device.node_uid,
    device.pool,
    device.gpu,
    greatest(span.started_ms, node.started_ms) as started_ms,
    least(span.ended_ms, node.ended_ms) as ended_ms,
    span.free_units,
    node.node_state,
    node.outage_started_ms,
    node.outage_class
from ledger.held_spans as span
inner join ledger.devices as device using (cluster, node_uid, gpu)
inner join ledger.node_pieces as node
    on
        device.cluster = node.cluster
        and device.node_uid = node.node_uid
        and device.profile = node.profile
        and span.started_ms < node.ended_ms
        and span.ended_ms > node.started_ms
where span.free_units > 0
