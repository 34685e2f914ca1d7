-- Records of slow segments with the baseline per position, and what made them slow [3.2, 3.4].
--
-- An attempt is cut at every onset and clearing of a degrading condition on its nodes, and by world
-- size and config. The baseline of a lineage, world and config is its fastest segment median.
--
-- grain: attempt_id, filled_order

with degradations as (
    select distinct
        held.attempt_id,
        condition.class,
        condition.started_ms,
        condition.ended_ms
    from (
        select distinct attempt.attempt_id, pod.cluster, pod.node_uid
        from staged.pods as pod
        inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    ) as held
    inner join intervals.condition_repairs as condition using (cluster, node_uid)
    where condition.is_degrading
),

turns as (
    select attempt_id, started_ms as turned_ms from degradations
    union
    select attempt_id, ended_ms from degradations where ended_ms < getvariable('forever_ms')
),

zones as (
    select record.attempt_id, record.filled_order, count(*) as zone
    from intervals.filled_records as record
    inner join turns
        on record.attempt_id = turns.attempt_id and turns.turned_ms <= record.started_ms
    group by record.attempt_id, record.filled_order
),

-- Phases are disjoint: only the last one that began before the record's end can touch it.
touched as (
    select record.attempt_id, record.filled_order
    from intervals.filled_records as record
    asof join intervals.attempt_phases as phase
        on record.attempt_id = phase.attempt_id and record.ended_ms > phase.started_ms
    where phase.ended_ms > record.started_ms
),

zoned as (
    select
        record.attempt_id,
        record.filled_order,
        record.started_ms,
        record.ended_ms,
        (record.ended_ms - record.started_ms) // (record.last - record.first + 1) as position_ms,
        coalesce(zones.zone, 0) as zone,
        record.world,
        record.config,
        record.filled_order > getvariable('warmup_rows')
        and not record.is_synthetic
        and touched.filled_order is null as is_clean
    from intervals.filled_records as record
    left join zones using (attempt_id, filled_order)
    left join touched using (attempt_id, filled_order)
),

segments as (
    select
        zoned.attempt_id,
        any_value(attempt.lineage_id) as lineage_id,
        zoned.zone,
        zoned.world,
        zoned.config,
        case
            when count(*) filter (where zoned.is_clean) >= getvariable('slow_min_rows')
                then cast(
                    quantile_disc(zoned.position_ms, 0.5) filter (where zoned.is_clean) as bigint
                )
        end as median_ms
    from zoned
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    group by zoned.attempt_id, zoned.zone, zoned.world, zoned.config
),

compared as (
    select *, min(median_ms) over (partition by lineage_id, world, config) as baseline_ms
    from segments
),

slow as (
    select zoned.*, compared.baseline_ms
    from zoned
    inner join compared using (attempt_id, zone, world, config)
    where compared.median_ms * 100 > compared.baseline_ms * (100 + getvariable('slow_pct'))
),

degraded as (
    select
        slow.attempt_id,
        slow.filled_order,
        arg_min(
            cause.class,
            {
                'precedence': taxonomy.precedence,
                'started_ms': cause.started_ms,
                'class': cause.class
            }
        ) as class
    from slow
    inner join degradations as cause
        on
            slow.attempt_id = cause.attempt_id
            and cause.started_ms < slow.ended_ms
            and cause.ended_ms > slow.started_ms
    left join catalog.taxonomy as taxonomy on cause.class = taxonomy.class
    group by slow.attempt_id, slow.filled_order
),

lagging as (
    select
        slow.attempt_id,
        slow.filled_order,
        arg_min(
            evidence.class, {'started_at': evidence.started_at, 'class': evidence.class}
        ) as class
    from slow
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    inner join staged.evidence as evidence
        on
            attempt.cluster = evidence.cluster
            and attempt.job = evidence.job
            and attempt.attempt = evidence.attempt
            and evidence.source = 'slow_rank'
            and epoch_ms(evidence.started_at) < slow.ended_ms
            and end_ms(evidence.ended_at) > slow.started_ms
    group by slow.attempt_id, slow.filled_order
)

select
    slow.attempt_id,
    slow.filled_order,
    slow.baseline_ms,
    coalesce(degraded.class, lagging.class, 'unk.slow') as class
from slow
left join degraded using (attempt_id, filled_order)
left join lagging using (attempt_id, filled_order)
