-- Every job that held GPUs in the window: what it held, what it made of it, what it lost and why.
-- Lost is what has a cause other than normal overhead. `goodput` is productive over held time; it
-- is null for jobs that do not train. `pools` are those it held GPUs of, `classes` what lost it time.
--
-- grain: cluster, job

with cells as (
    select
        gpu_time.*,
        gpu_time.is_lost and gpu_time.cause <> 'base.overhead' as is_charged
    from rollups.gpu_time as gpu_time
    where gpu_time.job is not null and gpu_time.cluster = gpu_time.member
),

held as (
    select
        cluster,
        job,
        min(namespace) as namespace,
        list(distinct pool order by pool) as pools,
        count(distinct attempt) as attempt_count,
        sum(unit_ms) as unit_ms,
        sum(case when is_productive then unit_ms else 0 end) as productive_unit_ms,
        sum(case when state = 'A.unknown' then unit_ms else 0 end) as unknown_unit_ms,
        sum(case when state = 'A.other' then unit_ms else 0 end) as other_unit_ms,
        sum(case when is_charged then unit_ms else 0 end) as lost_unit_ms
    from cells
    group by cluster, job
),

by_cause as (
    select
        cluster,
        job,
        cause,
        sum(unit_ms) as unit_ms
    from cells
    where is_charged
    group by cluster, job, cause
),

main_cause as (
    select
        cluster,
        job,
        cause,
        unit_ms
    from by_cause
    qualify row_number() over (partition by cluster, job order by unit_ms desc, cause) = 1
),

classes as (
    select
        cluster,
        job,
        list(cause order by unit_ms desc, cause) as classes
    from by_cause
    group by cluster, job
),

stopped as (
    select
        cluster,
        job,
        count(*) as interruption_count
    from ledger.interruptions
    group by cluster, job
)

select
    held.cluster,
    held.job,
    coalesce(jobs.name, held.job) as job_name,
    coalesce(jobs.namespace, held.namespace) as namespace,
    jobs.team,
    jobs.kind,
    jobs.state,
    case
        when
            jobs.ended_at >= getvariable('window_start')
            and jobs.ended_at < getvariable('window_end')
            then jobs.ended_at
    end as ended_at,
    held.attempt_count,
    coalesce(stopped.interruption_count, 0) as interruption_count,
    held.unit_ms / 5040 / 3600000 as gpu_hours,
    held.productive_unit_ms / 5040 / 3600000 as productive_gpu_hours,
    held.lost_unit_ms / 5040 / 3600000 as lost_gpu_hours,
    held.unknown_unit_ms / 5040 / 3600000 as unknown_gpu_hours,
    case
        when held.other_unit_ms < held.unit_ms then held.productive_unit_ms / held.unit_ms
    end as goodput,
    main_cause.cause as main_class,
    main_cause.unit_ms / 5040 / 3600000 as main_class_gpu_hours,
    held.pools,
    coalesce(classes.classes, []) as classes
from held
left join staged.jobs as jobs on held.cluster = jobs.cluster and held.job = jobs.job
left join main_cause on held.cluster = main_cause.cluster and held.job = main_cause.job
left join classes on held.cluster = classes.cluster and held.job = classes.job
left join stopped on held.cluster = stopped.cluster and held.job = stopped.job
