-- What each entry of the ledger comes to by charge: bookings without their times, for those who sum.
--
-- grain: row
-- kind: view

with crew_totals as (
    select
        attempt_id,
        crew_started_ms,
        crew_ended_ms,
        charge_id,
        sum(ended_ms - started_ms) as duration_ms
    from ledger.crew_pieces
    group by attempt_id, crew_started_ms, crew_ended_ms, charge_id
)

select
    group_id,
    pod_id,
    node_state,
    charge_id,
    unit_count * (ended_ms - started_ms) as unit_ms
from ledger.entries
where charge_id is not null

union all

select
    entry.group_id,
    entry.pod_id,
    entry.node_state,
    total.charge_id,
    cast(entry.unit_count * total.duration_ms as bigint) as unit_ms
from ledger.entries as entry
inner join crew_totals as total
    on
        entry.attempt_id = total.attempt_id
        and entry.started_ms = total.crew_started_ms
        and entry.ended_ms = total.crew_ended_ms
