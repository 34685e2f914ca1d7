-- The ledger with a charge for each share of a group of devices over one interval.
--
-- unit_ms = units × milliseconds over all devices of the group. ledger.gpu_time shows the same
-- device by device, with names for the numbers.
--
-- grain: group_id, started_ms, pod_id
-- kind: view

select
    group_id,
    pod_id,
    started_ms,
    ended_ms,
    charge_id,
    node_state,
    outage_started_ms,
    unit_count * (ended_ms - started_ms) as unit_ms
from ledger.entries
where charge_id is not null

union all

select
    entry.group_id,
    entry.pod_id,
    piece.started_ms,
    piece.ended_ms,
    piece.charge_id,
    entry.node_state,
    entry.outage_started_ms,
    entry.unit_count * (piece.ended_ms - piece.started_ms) as unit_ms
from ledger.entries as entry
inner join ledger.crew_pieces as piece
    on
        entry.attempt_id = piece.attempt_id
        and entry.started_ms = piece.crew_started_ms
        and entry.ended_ms = piece.crew_ended_ms
