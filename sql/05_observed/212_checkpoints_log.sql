-- Checkpoints from all logs of an attempt: the earliest begin and the earliest commit of each step.
--
-- One that could not be loaded later is bad from then on; the newest write of the step is meant.
--
-- grain: cluster, job, attempt, step

with latest as (
    select *
    from raw.log_checkpoints
    qualify
        row_number() over (
            partition by cluster, log_id, line
            order by ingested_at desc nulls last, run_id desc, complete desc, row_id
        ) = 1
),

united as (
    select
        attempts.cluster,
        attempts.job,
        attempts.attempt,
        latest.position as step,
        min(coalesce(latest.began_at, latest.committed_at)) as write_start,
        min(latest.committed_at) filter (where latest.complete) as committed_at,
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
),

condemned as (
    select
        united.cluster,
        united.job,
        united.attempt,
        united.step,
        load.failed_at
    from observed.failed_loads as load
    inner join united using (cluster, job, step)
    where united.write_start < load.failed_at
    qualify
        row_number() over (
            partition by load.cluster, load.job, load.step, load.failed_at
            order by united.write_start desc, united.attempt desc
        ) = 1
),

invalid as (
    select
        cluster,
        job,
        attempt,
        step,
        min(failed_at) as invalid_at
    from condemned
    group by cluster, job, attempt, step
)

select
    united.cluster,
    united.job,
    united.attempt,
    united.step,
    united.write_start,
    united.committed_at,
    invalid.invalid_at,
    united.ingested_at,
    united.ingested_from,
    united.run_id,
    united.row_id
from united
left join invalid using (cluster, job, attempt, step)
