-- Where the pace of a long stretch of clean records changes, to within a few records [3.2].
--
-- Segmentation with a quadratic cost and a penalty of 3 log n in units of the noise. Blocks of five
-- records stand for their median, so that single long records count nothing. What splits an
-- interval of blocks best is found for intervals of doubling lengths that overlap by three
-- quarters; the shortest interval in which a split pays tells a change best, since it hardly holds
-- another (seeded binary segmentation, narrowest over threshold). All sums are of whole numbers.
--
-- cut counts the clean records before the change.
--
-- grain: attempt_id, zone, setting_id, cut

with recursive blocks as (
    select
        attempt_id,
        zone,
        setting_id,
        least(place // 5, record_count // 5 - 1) as block,
        any_value(record_count) as record_count,
        quantile_disc(pace, 0.5) as pace
    from (
        select
            *,
            count(*) over (partition by attempt_id, zone, setting_id) as record_count
        from intervals.blind_records
    )
    where record_count >= 2 * getvariable('blind_min_rows')
    group by attempt_id, zone, setting_id, least(place // 5, record_count // 5 - 1)
),

-- sum_before: of the blocks before the border at which a block begins.
borders as (
    select
        *,
        coalesce(sum(pace) over (in_order rows between unbounded preceding and 1 preceding), 0)
            as sum_before,
        abs(pace - lag(pace) over in_order) as jump
    from blocks
    window in_order as (partition by attempt_id, zone, setting_id order by block)
),

-- Three quarters of the jumps between neighbours are below 1.63 deviations.
series as (
    select
        attempt_id,
        zone,
        setting_id,
        count(*) as block_count,
        sum(pace) as pace_sum,
        (getvariable('blind_min_rows') + 4) // 5 as least_blocks,
        3 * ln(any_value(record_count))
        * pow(greatest(2500, quantile_disc(jump, 0.75) / 1.63), 2) as penalty
    from borders
    group by attempt_id, zone, setting_id
),

sums as (
    select attempt_id, zone, setting_id, block as border, sum_before from borders
    union all
    select attempt_id, zone, setting_id, block_count, pace_sum from series
),

tiers as (
    select
        *,
        unnest(range(1, 2 + cast(log2(block_count / (2 * least_blocks)) as bigint))) as tier
    from series
),

lengths as (
    select
        *,
        least(block_count, least_blocks * cast(pow(2, tier) as bigint)) as length
    from tiers
),

seeds as (
    select distinct
        * exclude (block_count, pace_sum),
        unnest(
            list_transform(
                range(0, block_count - length + length // 4, length // 4),
                lambda start: least(start, block_count - length)
            )
        ) as first
    from lengths
),

bounds as (
    select
        seed.* exclude (length),
        seed.first + seed.length as until,
        at_first.sum_before as first_sum,
        at_end.sum_before as until_sum
    from seeds as seed
    inner join sums as at_first
        on
            seed.attempt_id = at_first.attempt_id
            and seed.zone = at_first.zone
            and seed.setting_id = at_first.setting_id
            and seed.first = at_first.border
    inner join sums as at_end
        on
            seed.attempt_id = at_end.attempt_id
            and seed.zone = at_end.zone
            and seed.setting_id = at_end.setting_id
            and seed.first + seed.length = at_end.border
),

splits as (
    select
        *,
        unnest(range(first + least_blocks, until - least_blocks + 1)) as border
    from bounds
),

-- How far the mean of the blocks rises at each split.
rises as (
    select
        split.*,
        split.border - split.first as left_count,
        split.until - split.border as right_count,
        (split.until_sum - sums.sum_before) / (split.until - split.border)
        - (sums.sum_before - split.first_sum) / (split.border - split.first) as rise
    from splits as split
    inner join sums using (attempt_id, zone, setting_id, border)
),

best_splits as (
    select
        attempt_id,
        zone,
        setting_id,
        tier,
        first,
        until,
        any_value(penalty) as penalty,
        max(
            {
                'gain': rise * rise * left_count * right_count / (left_count + right_count),
                'border': border,
                'rise': rise
            }
        ) as best
    from rises
    group by attempt_id, zone, setting_id, tier, first, until
),

worthwhile as (
    select
        * exclude (best, penalty),
        best.border as border,
        best.gain as gain
    from best_splits
    where
        best.gain > penalty
        and abs(best.rise) >= 1e6 * ln(1 + getvariable('slow_pct') / 200.0)
),

-- Tier by tier: an interval counts if no border that was taken lies in it, nor a better one of its
-- own length. Each round carries what was taken before.
taken as (
    select distinct attempt_id, zone, setting_id, cast(0 as bigint) as tier, cast(null as bigint) as border
    from worthwhile

    union all

    (
        with free as (
            select candidate.*
            from worthwhile as candidate
            inner join (select distinct attempt_id, zone, setting_id, tier from taken) as round
                on
                    candidate.attempt_id = round.attempt_id
                    and candidate.zone = round.zone
                    and candidate.setting_id = round.setting_id
                    and candidate.tier = round.tier + 1
            anti join taken
                on
                    candidate.attempt_id = taken.attempt_id
                    and candidate.zone = taken.zone
                    and candidate.setting_id = taken.setting_id
                    and candidate.first < taken.border
                    and candidate.until > taken.border
        )

        select attempt_id, zone, setting_id, tier + 1, border
        from taken
        where tier < (select max(tier) from worthwhile)

        union all

        select distinct free.attempt_id, free.zone, free.setting_id, free.tier, free.border
        from free
        anti join free as better
            on
                free.attempt_id = better.attempt_id
                and free.zone = better.zone
                and free.setting_id = better.setting_id
                and free.first < better.border
                and free.until > better.border
                and (better.gain > free.gain or (better.gain = free.gain and better.first < free.first))
    )
)

select attempt_id, zone, setting_id, 5 * border as cut
from taken
where tier = (select max(tier) from worthwhile) and border is not null
