-- Phases from the log that supplies the steps.
--
-- grain: row

with latest as (
    select *
    from raw.log_phases
    qualify row_number() over (
        partition by cluster, log_id, line, kind
        order by ingested_at desc nulls last, run_id desc, row_id
    ) = 1
)

select
    attempts.cluster,
    attempts.job,
    attempts.attempt,
    latest.kind,
    latest.started_at as start,
    latest.ended_at as "end",
    cast(null as varchar) as class,
    latest.ingested_at,
    latest.ingested_from,
    latest.run_id,
    latest.row_id
from latest
inner join observed.log_attempts as attempts using (cluster, log_id, segment)
inner join observed.step_streams as streams
    on
        attempts.cluster = streams.cluster
        and attempts.job = streams.job
        and attempts.attempt = streams.attempt
        and attempts.stream = streams.stream
qualify row_number() over (
    partition by attempts.cluster, attempts.job, attempts.attempt, latest.kind, latest.started_at
    order by latest.ingested_at desc nulls last, latest.row_id
) = 1
