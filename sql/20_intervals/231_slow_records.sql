-- Records of slow segments with the baseline per position, and what made them slow [3.2, 3.4].
--
-- An attempt is cut at every onset and clearing of a degrading condition on its nodes, and by world
-- size and config. The baseline of a lineage, world and config is its fastest segment median.
--
-- grain: record_key

with compared as (
    select
        segment.*,
        min(segment.median_ms) over (
            partition by
                attempt.lineage_id,
                coalesce(setting.world, attempt.world, -1),
                coalesce(setting.config, attempt.config, '')
        ) as baseline_ms
    from intervals.step_segments as segment
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    left join intervals.step_settings as setting using (setting_id)
    where segment.clean_count >= getvariable('slow_min_rows')
),

slow as (
    select
        record.attempt_id,
        record.record_key,
        record.started_ms,
        record.ended_ms,
        compared.baseline_ms
    from intervals.visible_records as record
    left join intervals.record_zones as zones using (record_key)
    inner join compared
        on
            record.attempt_id = compared.attempt_id
            and coalesce(zones.zone, 0) = compared.zone
            and record.setting_id = compared.setting_id
    where compared.median_ms * 100 > compared.baseline_ms * (100 + getvariable('slow_pct'))
),

degraded as (
    select
        slow.attempt_id,
        slow.record_key,
        arg_min(
            cause.class,
            {
                'precedence': taxonomy.precedence,
                'started_ms': cause.started_ms,
                'class': cause.class
            }
        ) as class
    from slow
    inner join intervals.degradations as cause
        on
            slow.attempt_id = cause.attempt_id
            and cause.started_ms < slow.ended_ms
            and cause.ended_ms > slow.started_ms
    left join catalog.taxonomy as taxonomy on cause.class = taxonomy.class
    group by slow.attempt_id, slow.record_key
),

lagging as (
    select
        slow.attempt_id,
        slow.record_key,
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
    group by slow.attempt_id, slow.record_key
)

select
    slow.attempt_id,
    slow.record_key,
    slow.baseline_ms,
    coalesce(degraded.class, lagging.class, 'unk.slow') as class
from slow
left join degraded using (record_key)
left join lagging using (record_key)
