-- What a restart costs after the attempt before has ended badly: the start-up of its successor
-- (restart_overhead_gpu_hours: image pull, gang assembly, initialisation and restore), how long it takes
-- from the start of an attempt to its first step, and its warm-up: how much longer the first three
-- records took than the attempt's median (no loss of the ledger: these steps are kept).
-- warmup_gpu_hours has no value where no restart came to a step.
--
-- grain: cluster, metric, scope, scope_value

with fleets as (
    select distinct cluster from rollups.clusters
),

overhead as (
    select
        clusters.cluster,
        charged.cause,
        charged.unit_ms
    from rollups.charged_time as charged
    inner join rollups.clusters as clusters on charged.cluster = clusters.member
    where
        charged.state in ('A.startup', 'A.gang_wait', 'A.init', 'A.restore')
        and charged.cause_attempt is not null
),

overhead_sums as (
    select cluster, 'fleet' as scope, '' as scope_value, sum(unit_ms) as unit_ms
    from (
        select cluster, unit_ms from overhead
        union all
        select cluster, 0 from fleets
    )
    group by cluster
    union all
    select cluster, 'class', cause, sum(unit_ms)
    from overhead
    group by cluster, cause
),

restarts as (
    select
        lineage.cluster,
        lineage.attempt_id,
        pace.first_record_id,
        pace.position_ms,
        attempts.gpus,
        attempts.team
    from intervals.lineage_attempts as lineage
    inner join intervals.attempt_pace as pace using (attempt_id)
    inner join rollups.attempts as attempts using (cluster, job, attempt)
    where
        lineage.prev_attempt is not null
        and pace.record_count > 0
        and lineage.started_ms >= getvariable('window_start_ms')
        and lineage.started_ms < getvariable('window_end_ms')
),

-- Records stand in order: those of an attempt follow its first one. By its number the few that
-- matter are found faster than by their places.
warmups as (
    select
        clusters.cluster,
        restart.attempt_id,
        any_value(restart.team) as team,
        sum(
            restart.gpus
            * greatest(0, record.duration_ms - (1 + record.more_count) * restart.position_ms)
        ) as gpu_ms
    from restarts as restart
    inner join intervals.step_records as record using (attempt_id)
    inner join rollups.clusters as clusters on restart.cluster = clusters.member
    where
        record.rowid between restart.first_record_id - 1 and restart.first_record_id + 1
    group by clusters.cluster, restart.attempt_id
),

warmup_sums as (
    select cluster, 'fleet' as scope, '' as scope_value, sum(gpu_ms) as gpu_ms, count(*) as n
    from warmups
    group by cluster
    union all
    select cluster, 'team', team, sum(gpu_ms), count(*)
    from warmups
    where team is not null
    group by cluster, team
),

names (metric, probability) as (
    values
    ('restart_median_hours', 0.5),
    ('restart_p90_hours', 0.9)
),

quantiles as (
    select *
    from rollups.span_quantiles
    inner join names using (probability)
    where measure = 'restart'
),

figures as (
    select
        'restart_overhead_gpu_hours' as metric,
        cluster,
        scope,
        scope_value,
        gpu_hours(unit_ms) as value,
        'GPU-hours' as unit
    from overhead_sums
    union all by name
    select * from in_hours(quantiles)
    union all by name
    select
        'warmup_gpu_hours' as metric,
        cluster,
        scope,
        scope_value,
        cast(gpu_ms as double) / 3600000 as value,
        n as event_count,
        'GPU-hours' as unit
    from warmup_sums
)

select * from metric_rows(figures)
