-- Jobs that started again and again without one step: restart loops of application errors, and
-- other starts that failed.
--
-- grain: cluster, job

with starts as (
    select
        cluster,
        job,
        cause,
        attempt,
        started_at,
        ended_at,
        unit_ms,
        state = 'A.restart_loop' as in_loop
    from ledger.group_time
    where state in ('A.restart_loop', 'A.lost.failed_start') and job is not null
)

select
    starts.cluster,
    starts.job,
    coalesce(min(jobs.name), starts.job) as job_name,
    min(jobs.namespace) as namespace,
    min(jobs.team) as team,
    count(distinct case when starts.in_loop then starts.attempt end) as loop_attempt_count,
    count(distinct case when not starts.in_loop then starts.attempt end) as failed_start_count,
    sum(case when starts.in_loop then starts.unit_ms else 0 end) / 5040 / 3600000 as loop_gpu_hours,
    sum(starts.unit_ms) / 5040 / 3600000 as gpu_hours,
    arg_max(starts.cause, starts.unit_ms) as class,
    min(starts.started_at) as first_at,
    max(starts.ended_at) as last_at
from starts
left join staged.jobs as jobs on starts.cluster = jobs.cluster and starts.job = jobs.job
group by starts.cluster, starts.job
