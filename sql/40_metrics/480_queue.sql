-- Time that work spent waiting for capacity inside the window, in wall hours and weighted with the
-- GPUs asked for. What its owner suspended was not waiting. event_count is the number of waits.
--
-- grain: cluster, metric, scope, scope_value

with waits as (
    select
        clusters.cluster,
        queue.pool,
        queue.job,
        jobs.team,
        cast(queue.pods as bigint) * queue.gpus_per_pod as gpus,
        greatest(
            0,
            least(
                coalesce(ms_of(queue.ended_at), getvariable('forever_ms')),
                getvariable('as_of_ms'),
                getvariable('window_end_ms')
            ) - greatest(ms_of(queue.started_at), getvariable('window_start_ms'))
        ) as wait_ms
    from staged.queue as queue
    inner join rollups.clusters as clusters on queue.cluster = clusters.member
    left join staged.jobs as jobs on queue.cluster = jobs.cluster and queue.job = jobs.job
    where not queue.is_suspended
),

scoped as (
    select
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'pool', 'scope_value': pool},
            {'scope': 'team', 'scope_value': team},
            {'scope': 'job', 'scope_value': case when cluster <> '*' then job end}
        ], recursive := true),
        gpus,
        wait_ms
    from waits
    union all
    -- A fleet without a queue has a row all the same.
    select distinct cluster, 'fleet', '', 0, 0
    from rollups.clusters
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        count(*) filter (where wait_ms > 0) as event_count,
        sum(wait_ms) as wait_ms,
        sum(gpus * cast(wait_ms as hugeint)) as gpu_ms
    from scoped
    where scope_value is not null
    group by cluster, scope, scope_value
),

figures as (
    select
        'queue_hours' as metric,
        cluster,
        scope,
        scope_value,
        wait_ms / 3600000 as value,
        event_count,
        'hours' as unit
    from sums
    union all by name
    select
        'queue_gpu_hours' as metric,
        cluster,
        scope,
        scope_value,
        gpu_ms / 3600000 as value,
        event_count,
        'GPU-hours' as unit
    from sums
)

select * from metric_rows(figures)
