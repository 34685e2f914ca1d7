-- What slow segments took beyond the baseline on each device of the gang, with the 95 % interval of a
-- bootstrap of the records within segments, the baseline found anew each time [3.5].
--
-- The median of m records drawn again from m has the rank m / 2 and the deviation sqrt(m) / 2; the
-- baseline is the smallest of the group. What the slow records themselves add is normal, with the
-- variance of their excess. Draws are hashes: the same data have the same interval.
--
-- grain: attempt_id, zone, setting_id
-- nothing without: intervals.slow_records

with slow_groups as (
    select distinct lineage_id, world, config
    from intervals.judged_segments
    where is_slow
),

members as (
    select segment.*
    from intervals.judged_segments as segment
    semi join slow_groups using (lineage_id, world, config)
),

paces as (
    select
        record.attempt_id,
        coalesce(zones.zone, 0) as zone,
        record.setting_id,
        (record.ended_ms - record.started_ms) // (record.last - record.first + 1) as pace_ms
    from (
        select visible.*
        from intervals.visible_records as visible
        semi join members using (attempt_id)
    ) as record
    left join intervals.record_zones as zones using (record_key)
    anti join intervals.touched_records using (record_key)
    where record.place > getvariable('warmup_rows') and not record.is_synthetic
),

ranked as (
    select
        *,
        row_number() over (partition by attempt_id, zone, setting_id order by pace_ms) as rank
    from paces
),

sizes as (
    select attempt_id, zone, setting_id, count(*) as pace_count
    from paces
    group by attempt_id, zone, setting_id
),

draws as (
    select
        member.lineage_id,
        member.world,
        member.config,
        member.attempt_id,
        member.zone,
        member.setting_id,
        draws.draw,
        -- Between 0 and 1.
        (hash(member.attempt_id, member.zone, member.setting_id, draws.draw, 1) + 1) / 2.0 ** 64
            as one_share,
        (hash(member.attempt_id, member.zone, member.setting_id, draws.draw, 2) + 1) / 2.0 ** 64
            as other_share
    from members as member
    cross join range(400) as draws (draw)
),

-- Two standard normal numbers for each draw of each segment (Box and Muller).
normals as (
    select
        * exclude (one_share, other_share),
        sqrt(-2 * ln(one_share)) * cos(2 * pi() * other_share) as rank_shift,
        sqrt(-2 * ln(one_share)) * sin(2 * pi() * other_share) as loss_shift
    from draws
),

drawn_ranks as (
    select
        normals.*,
        greatest(1, least(sizes.pace_count, cast(
            round((sizes.pace_count + 1 + sqrt(sizes.pace_count) * normals.rank_shift) / 2)
            as bigint
        ))) as rank
    from normals
    inner join sizes using (attempt_id, zone, setting_id)
),

baselines as (
    select
        drawn.lineage_id,
        drawn.world,
        drawn.config,
        drawn.draw,
        min(ranked.pace_ms) as baseline_ms
    from drawn_ranks as drawn
    inner join ranked using (attempt_id, zone, setting_id, rank)
    group by drawn.lineage_id, drawn.world, drawn.config, drawn.draw
),

excesses as (
    select
        *,
        greatest(0, ended_ms - started_ms - position_count * baseline_ms) as excess_ms
    from intervals.slow_records
),

losses as (
    select
        attempt_id,
        zone,
        setting_id,
        any_value(baseline_ms) as baseline_ms,
        cast(sum(excess_ms) as bigint) as lost_ms,
        sum(position_count) as position_count,
        sqrt(count(*) * var_pop(excess_ms)) as deviation_ms
    from excesses
    group by attempt_id, zone, setting_id
),

redrawn as (
    select
        loss.attempt_id,
        loss.zone,
        loss.setting_id,
        loss.lost_ms,
        greatest(
            0,
            loss.lost_ms
            - (drawn.baseline_ms - loss.baseline_ms) * loss.position_count
            + loss.deviation_ms * normals.loss_shift
        ) as redrawn_ms
    from losses as loss
    inner join normals using (attempt_id, zone, setting_id)
    inner join baselines as drawn using (lineage_id, world, config, draw)
)

select
    attempt_id,
    zone,
    setting_id,
    lost_ms,
    cast(quantile_cont(redrawn_ms, 0.025) as bigint) as low_ms,
    cast(quantile_cont(redrawn_ms, 0.975) as bigint) as high_ms
from redrawn
group by attempt_id, zone, setting_id, lost_ms
