-- Phases from the log that supplies the steps.
--
-- A log may be cut within a phase, by rotation or since it is pulled in parts. Then one part has a begin
-- without an end, and a later one an end alone (of no length), and no step lies between: that is one phase.
-- A begin that no part ends is left out; what the run died of tells how it went on.
--
-- grain: row

-- Of two readings of a line the one counts that saw the phase end.
with latest as (
    select *
    from raw.log_phases
    qualify row_number() over (
        partition by cluster, log_id, line, kind
        order by
            coalesce(ended_at > started_at, false) desc,
            ingested_at desc nulls last,
            run_id desc,
            row_id
    ) = 1
),

parts as (
    select attempts.*
    from observed.log_attempts as attempts
    inner join observed.step_streams as streams
        on
            attempts.cluster = streams.cluster
            and attempts.job = streams.job
            and attempts.attempt = streams.attempt
            and attempts.stream = streams.stream
),

neighbours as (
    select
        parts.job,
        parts.attempt,
        latest.*,
        lead(struct_pack(log_id := log_id, started_at := latest.started_at, ended_at := latest.ended_at))
            over (
                partition by cluster, parts.job, parts.attempt, latest.kind
                order by latest.started_at, latest.ended_at is null, log_id, latest.line
            ) as follower
    from latest
    inner join parts using (cluster, log_id, segment)
),

united as (
    select
        neighbours.* exclude (ended_at),
        coalesce(
            ended_at,
            case
                when follower.started_at = follower.ended_at and follower.log_id <> log_id
                    then follower.ended_at
            end
        ) as ended_at,
        ended_at is null as is_cut
    from neighbours
)

select
    united.cluster,
    united.job,
    united.attempt,
    united.kind,
    united.started_at as start,
    united.ended_at as "end",
    united.ingested_at,
    united.ingested_from,
    united.run_id,
    united.row_id
from united
where
    united.ended_at > united.started_at
    and not (
        united.is_cut
        and exists (
            select 1
            from parts as between_parts
            where
                between_parts.cluster = united.cluster
                and between_parts.job = united.job
                and between_parts.attempt = united.attempt
                and between_parts.step_records > 0
                and between_parts.log_id <> united.log_id
                and between_parts.ended_at > united.started_at
                and between_parts.ended_at < united.ended_at
        )
    )
qualify row_number() over (
    partition by united.cluster, united.job, united.attempt, united.kind, united.started_at
    order by united.ingested_at desc nulls last, united.row_id
) = 1
