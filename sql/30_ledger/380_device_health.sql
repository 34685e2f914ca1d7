-- The node-state dimension: the health of every paid device
-- through the window, whatever jobs do [1.9, 5.2].
--
-- grain: cluster, node_uid, gpu, started_ms
-- kind: view

select
    device.cluster,
    device.node_uid,
    device.pool,
    device.gpu,
    node.started_ms,
    node.ended_ms,
    node.node_state,
    node.in_service,
    node.ok_closed,
    node.ok_open,
    node.is_planned as planned
from ledger.devices as device
inner join ledger.node_pieces as node using (cluster, node_uid, profile)
