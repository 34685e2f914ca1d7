-- Loss to preemptions (STANDARD 4.7): all GPU time that is charged to an attempt which had to make room,
-- inside the window, by team of the one that lost, and by order: first for work that had never run,
-- second for the restart of a job that had broken, which is the cost of what broke it. event_count is
-- the number of preemptions that ended an attempt inside the window.
--
-- grain: cluster, metric, scope, scope_value

with preemptions as (
    select
        clusters.cluster,
        case when interruption.caused_by is null then 'first' else 'second' end as preemption_order,
        jobs.team,
        cast(interruption.lost_gpu_ms as double) / 3600000 as gpu_hours
    from ledger.interruptions as interruption
    inner join rollups.clusters as clusters on interruption.cluster = clusters.member
    left join staged.jobs as jobs
        on interruption.cluster = jobs.cluster and interruption.job = jobs.job
    where interruption.class = 'plat.preempt'
),

scoped as (
    select
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'order', 'scope_value': preemption_order},
            {'scope': 'team', 'scope_value': team}
        ], recursive := true),
        gpu_hours
    from preemptions
    union all
    -- A fleet without preemptions has a row all the same.
    select distinct cluster, 'fleet', '', null
    from rollups.clusters
),

figures as (
    select
        'preemption_gpu_hours' as metric,
        cluster,
        scope,
        scope_value,
        coalesce(sum(gpu_hours), 0) as value,
        count(gpu_hours) as event_count,
        'GPU-hours' as unit
    from scoped
    where scope_value is not null
    group by cluster, scope, scope_value
)

select * from metric_rows(figures)
