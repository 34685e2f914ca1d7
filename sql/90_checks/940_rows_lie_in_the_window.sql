-- No row of the ledger is empty, turned round or outside the window.
--
-- grain: row
-- severity: error

select device.cluster, device.node_uid, device.gpus, booking.started_ms, booking.ended_ms,
    booking.unit_ms
from ledger.bookings as booking
inner join ledger.device_groups as device using (group_id)
where
    booking.started_ms >= booking.ended_ms
    or booking.started_ms < getvariable('window_start_ms')
    or booking.ended_ms > getvariable('window_end_ms')
    or booking.unit_ms <= 0
