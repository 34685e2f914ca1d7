-- Records of slow segments with the baseline per position, and what made them slow [3.2, 3.4].
--
-- An attempt is cut at every onset and clearing of a degrading condition on its nodes, and by world size
-- and config. The baseline of a lineage, world and config is its fastest segment median.
--
-- grain: cluster, job, attempt, filled_order

with degradations as (
    select distinct
        held.cluster,
        held.job,
        held.attempt,
        condition.class,
        condition.started_ms,
        condition.ended_ms
    from (select distinct cluster, job, attempt, node_uid from staged.pods where job is not null) as held
    inner join intervals.condition_repairs as condition using (cluster, node_uid)
    where condition.is_degrading
),

turns as (
    select cluster, job, attempt, started_ms as turned_ms from degradations
    union
    select cluster, job, attempt, ended_ms from degradations where ended_ms < getvariable('forever_ms')
),

zones as (
    select record.cluster, record.job, record.attempt, record.filled_order, count(*) as zone
    from intervals.filled_records as record
    inner join turns
        on record.cluster = turns.cluster
        and record.job = turns.job
        and record.attempt = turns.attempt
        and turns.turned_ms <= record.started_ms
    group by record.cluster, record.job, record.attempt, record.filled_order
),

touched as (
    select distinct cluster, job, attempt, filled_order
    from intervals.attempt_segments
    where is_step and phase_kind is not null
),

zoned as (
    select
        record.cluster,
        record.job,
        record.attempt,
        record.lineage,
        record.filled_order,
        record.started_ms,
        record.ended_ms,
        (record.ended_ms - record.started_ms) // (record.last - record.first + 1) as position_ms,
        coalesce(zones.zone, 0) as zone,
        coalesce(record.world, -1) as world,
        coalesce(record.config, '') as config,
        record.filled_order > getvariable('warmup_rows')
        and not record.is_synthetic
        and touched.filled_order is null as is_clean
    from intervals.filled_records as record
    left join zones using (cluster, job, attempt, filled_order)
    left join touched using (cluster, job, attempt, filled_order)
),

segments as (
    select
        cluster,
        job,
        attempt,
        lineage,
        zone,
        world,
        config,
        case
            when count(*) filter (where is_clean) >= getvariable('slow_min_rows')
                then cast(quantile_disc(position_ms, 0.5) filter (where is_clean) as bigint)
        end as median_ms
    from zoned
    group by cluster, job, attempt, lineage, zone, world, config
),

compared as (
    select *, min(median_ms) over (partition by cluster, lineage, world, config) as baseline_ms
    from segments
),

slow as (
    select zoned.*, compared.baseline_ms
    from zoned
    inner join compared using (cluster, job, attempt, lineage, zone, world, config)
    where compared.median_ms * 100 > compared.baseline_ms * (100 + getvariable('slow_pct'))
),

degraded as (
    select
        slow.cluster,
        slow.job,
        slow.attempt,
        slow.filled_order,
        arg_min(cause.class, {'precedence': taxonomy.precedence, 'started_ms': cause.started_ms, 'class': cause.class}) as class
    from slow
    inner join degradations as cause
        on slow.cluster = cause.cluster
        and slow.job = cause.job
        and slow.attempt = cause.attempt
        and cause.started_ms < slow.ended_ms
        and cause.ended_ms > slow.started_ms
    left join catalog.taxonomy as taxonomy on cause.class = taxonomy.class
    group by slow.cluster, slow.job, slow.attempt, slow.filled_order
),

lagging as (
    select
        slow.cluster,
        slow.job,
        slow.attempt,
        slow.filled_order,
        arg_min(evidence.class, {'started_at': evidence.started_at, 'class': evidence.class}) as class
    from slow
    inner join staged.evidence as evidence
        on slow.cluster = evidence.cluster
        and slow.job = evidence.job
        and slow.attempt = evidence.attempt
        and evidence.source = 'slow_rank'
        and epoch_ms(evidence.started_at) < slow.ended_ms
        and end_ms(evidence.ended_at) > slow.started_ms
    group by slow.cluster, slow.job, slow.attempt, slow.filled_order
)

select
    slow.cluster,
    slow.job,
    slow.attempt,
    slow.filled_order,
    slow.baseline_ms,
    coalesce(degraded.class, lagging.class, 'unk.slow') as class
from slow
left join degraded using (cluster, job, attempt, filled_order)
left join lagging using (cluster, job, attempt, filled_order)
