-- Outages that touch the window, per node or single device, each with one cause [1.6].
--
-- gpu is null where the whole node is out. ended_ms is null while the outage is open. What is no
-- failure belongs to no incident. lost_gpu_ms is the time of the ledger that is charged to it.
--
-- grain: row
-- nothing without: intervals.outages

with charged as (
    select
        device.cluster,
        device.node_uid,
        device.profile,
        booking.outage_started_ms as started_ms,
        sum(booking.unit_count * (booking.ended_ms - booking.started_ms)) as unit_ms
    from ledger.entries as booking
    inner join ledger.device_groups as device using (group_id)
    where booking.outage_started_ms is not null
    group by device.cluster, device.node_uid, device.profile, booking.outage_started_ms
)

select
    outage.cluster,
    outage.node_uid,
    case when outage.profile >= 0 then outage.profile end as gpu,
    outage.started_ms,
    case when outage.ended_ms <= getvariable('as_of_ms') then outage.ended_ms end as ended_ms,
    outage.class,
    outage.is_planned as planned,
    outage.repair_action as action,
    outage.node_states,
    member.incident,
    cast(coalesce(charged.unit_ms, 0) // 5040 as bigint) as lost_gpu_ms
from intervals.outages as outage
left join intervals.incident_members as member using (cluster, node_uid, profile, started_ms)
left join charged using (cluster, node_uid, profile, started_ms)
where
    outage.started_ms < getvariable('window_end_ms')
    and outage.ended_ms > getvariable('window_start_ms')
