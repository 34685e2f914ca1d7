-- Jobs that started again and again without one step: restart loops of application errors, and
-- other starts that failed (STANDARD 5.9). A loop is a run of attempts without another between them.
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
),

-- Attempts of one loop have the same distance from their place among all that were in one.
looped as (
    select
        cluster,
        job,
        attempt - row_number() over (partition by cluster, job order by attempt) as loop
    from (select distinct cluster, job, attempt from starts where in_loop)
),

loops as (
    select
        cluster,
        job,
        count(*) as loop_count,
        max(attempt_count) as longest_loop_count
    from (
        select cluster, job, loop, count(*) as attempt_count
        from looped
        group by cluster, job, loop
    )
    group by cluster, job
),

costs as (
    select
        member as cluster,
        job,
        cast(sum(weighted_cost) as double) / 18144000000 / 1e6 as cost_dollars
    from rollups.costs
    where cluster = member and state in ('A.restart_loop', 'A.lost.failed_start')
    group by member, job
)

select
    starts.cluster,
    starts.job,
    coalesce(min(jobs.name), starts.job) as job_name,
    min(jobs.namespace) as namespace,
    min(jobs.team) as team,
    count(distinct case when starts.in_loop then starts.attempt end) as loop_attempt_count,
    coalesce(any_value(loops.loop_count), 0) as loop_count,
    coalesce(any_value(loops.longest_loop_count), 0) as longest_loop_count,
    count(distinct case when not starts.in_loop then starts.attempt end) as failed_start_count,
    sum(case when starts.in_loop then starts.unit_ms else 0 end) / 5040 / 3600000 as loop_gpu_hours,
    sum(starts.unit_ms) / 5040 / 3600000 as gpu_hours,
    any_value(costs.cost_dollars) as cost_dollars,
    arg_max(starts.cause, starts.unit_ms) as class,
    min(starts.started_at) as first_at,
    max(starts.ended_at) as last_at
from starts
left join staged.jobs as jobs on starts.cluster = jobs.cluster and starts.job = jobs.job
left join loops on starts.cluster = loops.cluster and starts.job = loops.job
left join costs on starts.cluster = costs.cluster and starts.job = costs.job
group by starts.cluster, starts.job
