-- The pieces of a crew fill the interval of its entries: no gap and no overlap [C1].
--
-- grain: row
-- severity: error

with crews as (
    select distinct attempt_id, started_ms, ended_ms
    from ledger.entries
    where attempt_id is not null
),

changes as (
    select
        attempt_id,
        crew_started_ms,
        crew_ended_ms,
        unnest([started_ms, ended_ms]) as changed_ms,
        unnest([1, -1]) as change
    from ledger.crew_pieces

    union all

    select
        attempt_id,
        started_ms,
        ended_ms,
        unnest([started_ms, ended_ms]),
        unnest([-1, 1])
    from crews
)

select
    attempt_id,
    crew_started_ms,
    crew_ended_ms,
    changed_ms,
    sum(change) as excess
from changes
group by attempt_id, crew_started_ms, crew_ended_ms, changed_ms
having sum(change) <> 0
