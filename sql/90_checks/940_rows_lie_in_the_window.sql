-- No row of the ledger is empty, turned round or outside the window.
--
-- grain: row
-- severity: error

select device.cluster, device.node_uid, device.gpus, entry.started_ms, entry.ended_ms,
    entry.unit_count
from ledger.entries as entry
inner join ledger.device_groups as device using (group_id)
where
    entry.started_ms >= entry.ended_ms
    or entry.started_ms < getvariable('window_start_ms')
    or entry.ended_ms > getvariable('window_end_ms')
    or entry.unit_count <= 0
    or (entry.charge_id is null) = (entry.attempt_id is null)
