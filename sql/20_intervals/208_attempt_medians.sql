-- The pace of each attempt: lower median of its records' time per position [2.6].
--
-- grain: attempt_id
-- sharded by: attempt_id

select
    attempt_id,
    cast(
        -- Half the memory of 64 bits, and longer than any pace.
        quantile_disc(
            cast(least(position_ms(duration_ms, more_count), 2147483647) as integer), 0.5
        ) as bigint
    ) as position_ms
from intervals.step_records
where in_shard(attempt_id)
group by attempt_id
