-- The node-state dimension sums to the same paid time, whatever jobs did [C8].
--
-- grain: row
-- severity: error

with sides as (
    select
        device.cluster,
        device.node_uid,
        device.lead_gpu,
        sum(5040 * len(device.gpus) * (node.ended_ms - node.started_ms)) as health_unit_ms,
        0 as ledger_unit_ms
    from ledger.device_groups as device
    inner join ledger.node_pieces as node using (cluster, node_uid, profile)
    group by device.cluster, device.node_uid, device.lead_gpu

    union all

    select cluster, node_uid, lead_gpu, 0, sum(unit_ms)
    from ledger.window_totals
    where node_uid is not null
    group by cluster, node_uid, lead_gpu
)

select
    cluster,
    node_uid,
    lead_gpu,
    sum(health_unit_ms) as health_unit_ms,
    sum(ledger_unit_ms) as ledger_unit_ms
from sides
group by cluster, node_uid, lead_gpu
having sum(health_unit_ms) <> sum(ledger_unit_ms)
