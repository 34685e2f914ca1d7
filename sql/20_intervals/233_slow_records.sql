-- Records of slow segments with the baseline per position, and what made them slow [3.2, 3.4].
--
-- An attempt is cut at every onset and clearing of a degrading condition on its nodes, where its
-- pace changes for long, and by world size and config. basis tells what named the class: a
-- condition, the ranks' own times, or nothing.
--
-- grain: record_key

with slow as (
    select
        record.attempt_id,
        record.record_key,
        record.started_ms,
        record.ended_ms,
        record.last - record.first + 1 as position_count,
        record.is_synthetic,
        segment.zone,
        segment.setting_id,
        segment.baseline_ms
    from (
        select visible.*
        from intervals.visible_records as visible
        semi join (
            select attempt_id from intervals.judged_segments
            where is_slow
        ) as slow_attempts using (attempt_id)
    ) as record
    left join intervals.record_zones as zones using (record_key)
    inner join intervals.judged_segments as segment
        on
            record.attempt_id = segment.attempt_id
            and coalesce(zones.zone, 0) = segment.zone
            and record.setting_id = segment.setting_id
    where segment.is_slow
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
            and ms_of(evidence.started_at) < slow.ended_ms
            and end_ms(evidence.ended_at) > slow.started_ms
    group by slow.attempt_id, slow.record_key
)

select
    slow.attempt_id,
    slow.record_key,
    slow.started_ms,
    slow.ended_ms,
    slow.position_count,
    slow.is_synthetic,
    slow.zone,
    slow.setting_id,
    slow.baseline_ms,
    coalesce(degraded.class, lagging.class, 'unk.slow') as class,
    case
        when degraded.record_key is not null then 'condition'
        when lagging.record_key is not null then 'rank'
        else 'nothing'
    end as basis
from slow
left join degraded using (record_key)
left join lagging using (record_key)
