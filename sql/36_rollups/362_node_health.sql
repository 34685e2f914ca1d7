-- How long each node was in service and fit for work inside the window (STANDARD 5.2). A node is
-- fit only while all of its devices are; the columns device_* count every device by itself.
-- Planned maintenance is taken out of both sides of unplanned_*.
--
-- grain: cluster, node_uid

with health as (
    select
        node.cluster,
        node.node_uid,
        device.device_count,
        node.started_ms,
        node.ended_ms,
        node.node_state,
        node.in_service,
        node.ok_closed,
        node.ok_open,
        node.is_planned as planned
    from ledger.node_pieces as node
    inner join (
        select cluster, node_uid, profile, count(*) as device_count
        from ledger.devices
        group by cluster, node_uid, profile
    ) as device using (cluster, node_uid, profile)
),

edges as (
    -- Each device interval opens at its start and closes at its end; the running sums tell how
    -- many devices of the node are in a condition, with no join of segments to devices.
    select
        cluster,
        node_uid,
        started_ms as edge_ms,
        device_count as step,
        in_service,
        ok_closed,
        ok_open,
        node_state,
        planned
    from health
    where in_service
    union all
    select
        cluster,
        node_uid,
        ended_ms as edge_ms,
        -device_count as step,
        in_service,
        ok_closed,
        ok_open,
        node_state,
        planned
    from health
    where in_service
),

changes as (
    select
        cluster,
        node_uid,
        edge_ms,
        sum(step) as devices,
        sum(case when ok_closed then 0 else step end) as bad_closed,
        sum(case when ok_open then 0 else step end) as bad_open,
        sum(case when node_state = 'available' then 0 else step end) as unschedulable,
        sum(case when planned then step else 0 end) as planned
    from edges
    group by cluster, node_uid, edge_ms
),

segments as (
    select
        cluster,
        node_uid,
        coalesce(lead(edge_ms) over following, edge_ms) - edge_ms as span_ms,
        sum(devices) over following as devices,
        sum(bad_closed) over following as bad_closed,
        sum(bad_open) over following as bad_open,
        sum(unschedulable) over following as unschedulable,
        sum(planned) over following as planned
    from changes
    window following as (partition by cluster, node_uid order by edge_ms)
),

nodes as (
    select
        cluster,
        node_uid,
        sum(case when devices > 0 then span_ms else 0 end) as service_ms,
        sum(case when devices > 0 and bad_closed = 0 then span_ms else 0 end) as ok_closed_ms,
        sum(case when devices > 0 and bad_open = 0 then span_ms else 0 end) as ok_open_ms,
        sum(case when devices > 0 and unschedulable = 0 then span_ms else 0 end)
            as schedulable_ms,
        sum(case when devices > 0 and planned = 0 then span_ms else 0 end)
            as unplanned_service_ms,
        sum(case when devices > 0 and planned = 0 and bad_closed = 0 then span_ms else 0 end)
            as unplanned_ok_ms,
        sum(devices * span_ms) as device_service_ms,
        sum((devices - bad_closed) * span_ms) as device_ok_closed_ms,
        sum((devices - bad_open) * span_ms) as device_ok_open_ms,
        sum((devices - unschedulable) * span_ms) as device_schedulable_ms
    from segments
    group by cluster, node_uid
),

pools as (
    select
        cluster,
        node_uid,
        max(pool) as pool
    from ledger.node_pieces
    group by cluster, node_uid
)

select
    pools.cluster,
    pools.node_uid,
    pools.pool,
    coalesce(nodes.service_ms, 0) as service_ms,
    coalesce(nodes.ok_closed_ms, 0) as ok_closed_ms,
    coalesce(nodes.ok_open_ms, 0) as ok_open_ms,
    coalesce(nodes.schedulable_ms, 0) as schedulable_ms,
    coalesce(nodes.unplanned_service_ms, 0) as unplanned_service_ms,
    coalesce(nodes.unplanned_ok_ms, 0) as unplanned_ok_ms,
    coalesce(nodes.device_service_ms, 0) as device_service_ms,
    coalesce(nodes.device_ok_closed_ms, 0) as device_ok_closed_ms,
    coalesce(nodes.device_ok_open_ms, 0) as device_ok_open_ms,
    coalesce(nodes.device_schedulable_ms, 0) as device_schedulable_ms
from pools
-- A node that was never in service has no time in which it could have been fit.
left join nodes
    on pools.cluster = nodes.cluster and pools.node_uid = nodes.node_uid
