-- Units of each device of a group that no pod holds, with the state of the node.
--
-- grain: group_id, started_ms

select
    device.group_id,
    device.cluster,
    device.node_id,
    device.pool,
    len(device.gpus) as gpu_count,
    greatest(span.started_ms, node.started_ms) as started_ms,
    least(span.ended_ms, node.ended_ms) as ended_ms,
    span.free_units,
    node.node_state,
    node.outage_started_ms,
    node.outage_class
from ledger.held_spans as span
inner join ledger.device_groups as device using (group_id)
inner join ledger.node_pieces as node
    on
        device.profile_id = node.profile_id
        and span.started_ms < node.ended_ms
        and span.ended_ms > node.started_ms
where span.free_units > 0
