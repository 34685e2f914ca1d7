-- Step records from logs.
--
-- grain: row

with latest as (
    select *
    from raw.log_steps
    qualify row_number() over (
        partition by cluster, log_id, line
        order by ingested_at desc nulls last, run_id desc, row_id
    ) = 1
)

select
    attempts.cluster,
    attempts.job,
    attempts.attempt,
    latest.first,
    latest.last,
    latest.started_at as start,
    latest.ended_at as "end",
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
-- A rotated part that was read twice under two names.
qualify row_number() over (
    partition by
        attempts.cluster, attempts.job, attempts.attempt, latest.first, latest.last, latest.ended_at
    order by latest.ingested_at desc nulls last, latest.row_id
) = 1
