-- What checkpoints cost where training goes on: how many saves blocked it, how long one does on the
-- average, and the share of the training time that they took. Saves of work that was thrown away are
-- lost with it and not in the share. Numerators are seconds, of GPUs in the share.
--
-- grain: cluster, metric, scope, scope_value

with saves as (
    select
        clusters.cluster,
        case when clusters.cluster <> '*' then lineage.job end as job,
        phase.ended_ms - phase.started_ms as span_ms
    from intervals.attempt_phases as phase
    inner join intervals.lineage_attempts as lineage using (attempt_id)
    inner join rollups.clusters as clusters on lineage.cluster = clusters.member
    where
        phase.kind = 'ckpt_save'
        and phase.started_ms >= getvariable('window_start_ms')
        and phase.started_ms < getvariable('window_end_ms')
),

stalls as (
    select cluster, 'fleet' as scope, '' as scope_value, sum(span_ms) as span_ms, count(*) as n
    from saves
    group by cluster
    union all
    select cluster, 'job', job, sum(span_ms), count(*)
    from saves
    where job is not null
    group by cluster, job
),

training as (
    select
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'team', 'scope_value': team},
            {'scope': 'job', 'scope_value': case when cluster <> '*' then job end}
        ], recursive := true),
        unit_ms,
        case when state = 'A.ckpt_save' then unit_ms else 0 end as save_ms
    from rollups.gpu_time
    where is_allocated and state not in ('A.other', 'A.standby')
),

shares as (
    select
        cluster,
        scope,
        scope_value,
        sum(save_ms) as save_ms,
        sum(unit_ms) as unit_ms
    from training
    where scope_value is not null
    group by cluster, scope, scope_value
),

figures as (
    select
        'checkpoint_stall_seconds' as metric,
        cluster,
        scope,
        scope_value,
        cast(span_ms as double) / 1000 / n as value,
        cast(span_ms as double) / 1000 as numerator,
        n as denominator,
        n as event_count,
        'seconds' as unit
    from stalls
    union all by name
    select
        'checkpoint_share' as metric,
        cluster,
        scope,
        scope_value,
        ratio(save_ms, unit_ms) as value,
        gpu_seconds(save_ms) as numerator,
        gpu_seconds(unit_ms) as denominator,
        'ratio' as unit
    from shares
)

select * from metric_rows(figures)
