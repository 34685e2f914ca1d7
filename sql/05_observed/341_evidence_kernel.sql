-- What kernel logs say, on the node and GPU where they say it.
--
-- The node is the life of that name in which the line was written, else the last one before it. The
-- GPU index is known where a driver published the device's PCI address; else it stays open, and the
-- line speaks of the node.
--
-- grain: row

with

placed as (
    select
        events.*,
        nodes.node_uid,
        nodes.full_name
    from raw.kernel_events as events
    left join observed.kernel_nodes as nodes
        on
            events.cluster = nodes.cluster
            and events.node_name is not distinct from nodes.node_name
            and case when events.node_name is null then events.origin end
            is not distinct from nodes.origin
    where events.t is not null
    qualify
        row_number() over (
            partition by
                events.cluster, events.origin, events.origin_line, events.t, events.value,
                events.node_name, events.row_id
            order by
                (nodes.born_at is null or nodes.born_at <= events.t)
                and (nodes.gone_at is null or nodes.gone_at > events.t) desc,
                nodes.born_at <= events.t desc,
                nodes.born_at desc
        ) = 1
)

select
    placed.cluster,
    date_trunc('milliseconds', placed.t) as t,
    placed.source,
    placed.value,
    placed.node_uid,
    devices.gpu,
    case when placed.source = 'xid' then placed.message end as reason,
    placed.origin,
    placed.origin_line,
    placed.ingested_at,
    placed.ingested_from,
    placed.run_id,
    placed.row_id
from placed
left join observed.device_addresses as devices
    on
        placed.cluster = devices.cluster
        and placed.full_name = devices.node_name
        and right(split_part(placed.pci, '.', 1), 10) = devices.pci
