-- Lines of logs that may explain a failure.
--
-- A line without a time happened at the latest when its part of the log ended, or when its pod did.
--
-- grain: row

with latest as (
    select *
    from raw.log_evidence
    qualify row_number() over (
        partition by cluster, log_id, line, signature
        order by ingested_at desc nulls last, run_id desc, row_id
    ) = 1
),

placed as (
    select
        attempts.*,
        latest.*
        exclude (cluster, log_id, segment, rank, ingested_at, ingested_from, run_id),
        latest.rank as line_rank,
        latest.ingested_at as known_at,
        latest.ingested_from as known_from,
        latest.run_id as known_run,
        coalesce(
            latest.observed_at,
            attempts.ended_at,
            case when isfinite(attempts.pod_ended_at) then attempts.pod_ended_at end
        ) as happened_at
    from latest
    inner join observed.log_attempts as attempts using (cluster, log_id, segment)
)

select
    cluster,
    happened_at as t,
    source,
    value,
    node_uid,
    pod_uid,
    job,
    attempt,
    coalesce(line_rank, rank) as rank,
    path as origin,
    line as origin_line,
    known_at as ingested_at,
    known_from as ingested_from,
    known_run as run_id,
    row_id
from placed
where happened_at is not null
