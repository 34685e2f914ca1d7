-- Every state and every cause of the ledger stands in the catalogue.
--
-- grain: row
-- severity: error

select distinct entry.state, entry.cause
from ledger.window_totals as entry
left join catalog.states as state on entry.state = state.state
left join catalog.taxonomy as cause on entry.cause = cause.class
where state.state is null or (entry.cause is not null and cause.class is null)
