-- Attempts whose pace may have changed for good: where the search for change points is worth it.
--
-- A gate that costs one look at each record [3.2]. Pace is the time per position against the
-- attempt's median, in 1/1024, cut off at 1/8 so that a single long record does not count. The
-- alarm is the spread of the mean pace of blocks of 16 records, or of 128: large enough to matter,
-- and larger than noise makes it. Whole milliseconds cannot tell the paces of positions
-- shorter than 20 ms apart.
--
-- grain: attempt_id
-- sharded by: attempt_id

with scales as (
    select
        attempt_id,
        cast(1024 as double) / position_ms as scale
    from intervals.attempt_medians
    where position_ms >= 20
),

scaled as (
    select
        record.attempt_id,
        record.rowid >> 4 as block,
        record.duration_ms * scales.scale / (record.more_count + 1) - 1024 as pace
    from intervals.step_records as record
    inner join scales using (attempt_id)
    where in_shard(record.attempt_id)
),

paces as (
    select
        attempt_id,
        block,
        round(case when pace > 128 then 128 when pace < -128 then -128 else pace end) as pace
    from scaled
),

-- Whole numbers this small are exact as doubles, whose sums are the fastest.
sums as (
    select
        attempt_id,
        block,
        cast(sum(pace) as bigint) as pace_sum,
        cast(sum(pace * pace) as bigint) as square_sum,
        count(*) as record_count
    from paces
    group by attempt_id, block
    having count(*) >= 8
),

blocks as (
    select
        attempt_id,
        block,
        64 * pace_sum // record_count as mean,
        square_sum - pace_sum * pace_sum // record_count as square_sum,
        record_count
    from sums
),

-- Means of blocks are in 1/64 of the unit of pace, so that sums are of whole numbers.
octets as (
    select
        attempt_id,
        sum(record_count) as record_count,
        count(*) as block_count,
        sum(square_sum) as square_sum,
        min(mean) as least,
        max(mean) as most,
        sum(mean) // count(*) as mean,
        sum(mean * mean) - sum(mean) * sum(mean) // count(*) as mean_square_sum
    from blocks
    group by attempt_id, block >> 3
),

spreads as (
    select
        attempt_id,
        max(most) - min(least) as spread,
        coalesce(max(mean) filter (where block_count >= 4), 0)
        - coalesce(min(mean) filter (where block_count >= 4), 0) as octet_spread,
        case
            -- Slow noise shows in the means of neighbouring blocks, if there are enough of them.
            when count(*) >= 4
                then sqrt(median(mean_square_sum // greatest(1, block_count - 1)))
            else sqrt(64 * 64 / 16 * sum(square_sum) / greatest(1, sum(record_count - 1)))
        end as noise
    from octets
    group by attempt_id
    having sum(record_count) >= 2 * getvariable('blind_min_rows')
)

select attempt_id
from spreads
where
    -- Half of what makes a segment slow; of some thousand means of mere noise all lie within seven
    -- of their deviations.
    spread >= greatest(64 * 1024 * getvariable('slow_pct') / 200, 7 * noise)
    or octet_spread >= greatest(64 * 1024 * getvariable('slow_pct') / 200, 7 * noise / sqrt(8))
