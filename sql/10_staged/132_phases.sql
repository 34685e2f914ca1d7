-- Explicit phases of an attempt, clocks corrected; an open one lasts until the knowledge time.
--
-- grain: row
-- nothing without: gathered.phases

select distinct
    phase.cluster,
    phase.job,
    phase.attempt,
    phase.kind,
    phase.start - to_milliseconds(coalesce(clock.offset_ms, 0)) as started_at,
    coalesce(
        least(phase."end" - to_milliseconds(coalesce(clock.offset_ms, 0)), getvariable('as_of')),
        getvariable('as_of')
    ) as ended_at,
    known_class(phase.class) as class
from gathered.phases as phase
semi join staged.attempts using (cluster, job, attempt)
left join staged.clock_offsets as clock using (cluster, job, attempt)
where phase.start <= getvariable('as_of')
