-- Stretches of an attempt of one zone, world size and configuration, with the median time per
-- position of their clean records [3.2].
--
-- Clean is what is not among the first of the attempt, not synthetic, and touched by no phase.
--
-- grain: attempt_id, zone, setting_id
-- sharded by: attempt_id

select
    record.attempt_id,
    coalesce(zones.zone, 0) as zone,
    record.setting_id,
    count(*) filter (where touched.record_key is null) as clean_count,
    cast(
        quantile_disc(
            cast(
                least(
                    (record.ended_ms - record.started_ms) // (record.last - record.first + 1),
                    2147483647
                ) as integer
            ),
            0.5
        ) filter (where touched.record_key is null) as bigint
    ) as median_ms
from intervals.visible_records as record
left join intervals.record_zones as zones using (record_key)
left join intervals.touched_records as touched using (record_key)
where
    record.place > getvariable('warmup_rows')
    and not record.is_synthetic
    and in_shard(record.attempt_id)
group by record.attempt_id, zones.zone, record.setting_id
