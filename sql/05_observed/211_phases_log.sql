-- Phases from the log that supplies the steps.
--
-- Where the log was cut within a phase, by rotation or since it is pulled in parts, one part has a begin
-- without an end, and the next one an end without a begin (of no length): these are one phase. A begin that
-- no part ends is left out: what the run died of tells how it went on.
--
-- grain: row

with latest as (
    select *
    from raw.log_phases
    qualify row_number() over (
        partition by cluster, log_id, line, kind
        order by ingested_at desc nulls last, run_id desc, row_id
    ) = 1
),

placed as (
    select
        attempts.job,
        attempts.attempt,
        latest.*
    from latest
    inner join observed.log_attempts as attempts using (cluster, log_id, segment)
    inner join observed.step_streams as streams
        on
            attempts.cluster = streams.cluster
            and attempts.job = streams.job
            and attempts.attempt = streams.attempt
            and attempts.stream = streams.stream
),

joined as (
    select
        *,
        coalesce(
            ended_at,
            case
                when lead(started_at) over next_of_kind = lead(ended_at) over next_of_kind
                    and lead(log_id) over next_of_kind <> log_id
                    then lead(ended_at) over next_of_kind
            end
        ) as closed_at
    from placed
    window next_of_kind as (
        partition by cluster, job, attempt, kind
        order by started_at, ended_at is null, log_id, line
    )
)

select
    cluster,
    job,
    attempt,
    kind,
    started_at as start,
    closed_at as "end",
    cast(null as varchar) as class,
    ingested_at,
    ingested_from,
    run_id,
    row_id
from joined
where closed_at > started_at
qualify row_number() over (
    partition by cluster, job, attempt, kind, started_at
    order by ingested_at desc nulls last, row_id
) = 1
