-- Productive time and idle time without demand have no cause;
-- unknown and foreign time may; all else has one [1.8].
--
-- grain: row
-- severity: error

select distinct state, cause
from ledger.window_totals
where
    (cause is not null and (state like 'A.productive.%' or state in ('I.no_demand', 'A.other')))
    or (
        cause is null
        and state not like 'A.productive.%'
        and state not in ('I.no_demand', 'A.other', 'A.unknown')
    )
