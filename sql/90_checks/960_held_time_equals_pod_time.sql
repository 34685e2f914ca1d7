-- Allocated time is the units the pods held, less the
-- teardown that lost to a node that was down [C3].
--
-- Devices on which the pods asked for more than there is are left out: their shares were scaled.
--
-- grain: row
-- severity: error

with crowded as (
    select distinct group_id
    from ledger.held_spans
    where free_units = 0 and len(held) > 1
),

held_time as (
    select
        device.group_id,
        sum(len(device.gpus) * pod.unit_count * greatest(
            least(end_ms(pod.released_at), device.ended_ms)
            - greatest(ms_of(pod.bound_at), device.started_ms),
            0
        )) as unit_ms
    from ledger.pod_groups as held
    inner join intervals.pod_devices as named using (pod_id)
    inner join staged.pods as pod on named.cluster = pod.cluster and named.pod_uid = pod.pod_uid
    inner join ledger.device_groups as device using (group_id)
    -- A reservation is idle time.
    where pod.role <> 'reserved'
    group by device.group_id
),

dropped_time as (
    select
        device.group_id,
        sum(len(device.gpus) * pod.unit_count * (
            least(piece.ended_ms, node.ended_ms) - greatest(piece.started_ms, node.started_ms)
        )) as unit_ms
    from intervals.pod_spans as piece
    inner join intervals.charges as charge using (charge_id)
    inner join intervals.pod_devices as named using (pod_id)
    inner join staged.pods as pod on named.cluster = pod.cluster and named.pod_uid = pod.pod_uid
    inner join ledger.pod_groups as held using (pod_id)
    inner join ledger.device_groups as device using (group_id)
    inner join ledger.node_pieces as node
        on
            device.profile_id = node.profile_id
            and piece.started_ms < node.ended_ms
            and piece.ended_ms > node.started_ms
    where
        charge.state = 'A.teardown'
        and node.node_state not in ('available', 'cordoned', 'draining')
    group by device.group_id
),

booked_time as (
    select booking.group_id, sum(booking.unit_ms) as unit_ms
    from ledger.charged_shares as booking
    inner join ledger.charges as charge using (charge_id)
    where charge.state like 'A.%'
    group by booking.group_id
)

select
    device.cluster,
    device.node_uid,
    device.gpus,
    held_time.unit_ms as held_unit_ms,
    coalesce(dropped_time.unit_ms, 0) as dropped_unit_ms,
    coalesce(booked_time.unit_ms, 0) as booked_unit_ms
from held_time
inner join ledger.device_groups as device using (group_id)
anti join crowded using (group_id)
left join dropped_time using (group_id)
left join booked_time using (group_id)
where held_time.unit_ms - coalesce(dropped_time.unit_ms, 0) <> coalesce(booked_time.unit_ms, 0)
