-- Stretches of an attempt of one zone, world size and configuration, with the median time per
-- position of their clean records [3.2].
--
-- Clean is what is not among the first of the attempt, not synthetic, and touched by no phase. Most
-- attempts have one zone and no synthetic record: theirs are taken as they stand, all but the few
-- that are not clean, and in these tens of millions every join and every grouped column shows.
--
-- grain: attempt_id, zone, setting_id
-- sharded by: attempt_id

with cut_attempts as (
    select attempt_id from intervals.attempt_pace where is_ragged
    union
    select attempt_id from intervals.record_zones
),

first_records as (
    select
        first_record_id - 1 + unnest(range(least(getvariable('warmup_rows'), record_count)))
            as place
    from intervals.attempt_pace
    where in_shard(attempt_id)
),

-- Of one range of attempts these are so few that looking them up is fast.
unclean as (
    select record_key // 2 - 1 as place
    from intervals.touched_records
    where record_key % 2 = 0 and in_shard(attempt_id)
    union
    select place from first_records
),

-- Half the memory of 64 bits, and longer than any pace.
plain as (
    select
        record.attempt_id,
        record.setting_id,
        cast(
            least(position_ms(record.duration_ms, record.more_count), 2147483647) as integer
        ) as position_ms
    from intervals.step_records as record
    anti join unclean on record.rowid = unclean.place
    anti join cut_attempts using (attempt_id)
    where in_shard(record.attempt_id)
),

zoned as (
    select
        record.attempt_id,
        coalesce(zones.zone, 0) as zone,
        record.setting_id,
        cast(
            least(
                (record.ended_ms - record.started_ms) // (record.last - record.first + 1),
                2147483647
            ) as integer
        ) as position_ms
    from intervals.visible_records as record
    semi join cut_attempts using (attempt_id)
    anti join intervals.touched_records using (record_key)
    left join intervals.record_zones as zones using (record_key)
    where
        record.place > getvariable('warmup_rows')
        and not record.is_synthetic
        and in_shard(record.attempt_id)
),

segments as (
    select
        attempt_id,
        0 as zone,
        setting_id,
        count(*) as clean_count,
        quantile_disc(position_ms, 0.5) as median_ms
    from plain
    group by attempt_id, setting_id

    union all

    select
        attempt_id,
        zone,
        setting_id,
        count(*) as clean_count,
        quantile_disc(position_ms, 0.5) as median_ms
    from zoned
    group by attempt_id, zone, setting_id
)

select * replace (cast(median_ms as bigint) as median_ms)
from segments
