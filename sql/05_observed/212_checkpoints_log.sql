-- Checkpoints from all logs of an attempt: the earliest begin and the earliest commit of each step.
--
-- grain: cluster, job, attempt, step

with latest as (
    select *
    from raw.log_checkpoints
    qualify row_number() over (
        partition by cluster, log_id, line
        order by ingested_at desc nulls last, run_id desc, complete desc, row_id
    ) = 1
)

select
    attempts.cluster,
    attempts.job,
    attempts.attempt,
    latest.position as step,
    min(coalesce(latest.began_at, latest.committed_at)) as write_start,
    min(latest.committed_at) filter (where latest.complete) as committed_at,
    cast(null as timestamptz) as invalid_at,
    cast(null as varchar) as path,
    cast(null as bigint) as bytes,
    cast(null as timestamptz) as deleted_at,
    max(latest.ingested_at) as ingested_at,
    min(latest.ingested_from) as ingested_from,
    max(latest.run_id) as run_id,
    min(latest.row_id) as row_id
from latest
inner join observed.log_attempts as attempts using (cluster, log_id, segment)
where
    latest.position is not null
    and coalesce(latest.began_at, latest.committed_at) is not null
group by attempts.cluster, attempts.job, attempts.attempt, latest.position
