-- The timeline of an attempt over the interval of its entries: a crew is all entries of one attempt
-- that begin and end together, as most pods of a gang do.
--
-- grain: attempt_id, crew_started_ms, crew_ended_ms, started_ms

with crews as (
    select distinct attempt_id, started_ms, ended_ms
    from ledger.entries
    where attempt_id is not null
)

select
    crew.attempt_id,
    crew.started_ms as crew_started_ms,
    crew.ended_ms as crew_ended_ms,
    greatest(crew.started_ms, line.started_ms) as started_ms,
    least(crew.ended_ms, line.ended_ms) as ended_ms,
    line.charge_id
from crews as crew
inner join intervals.timeline_charges as line
    on
        crew.attempt_id = line.attempt_id
        and crew.started_ms < line.ended_ms
        and crew.ended_ms > line.started_ms
