-- Prices of a pool that contradict each other. One that says it goes on when the next begins ends there
-- all the same, and what it says of the time after is not used; of two of one file that begin together
-- one is used [5.13].
--
-- grain: row
-- severity: warn

with latest as (
    select cluster, pool, "from" as started_at, "to" as ended_at, microdollars_per_gpu_hour, ingested_from
    from gathered.prices
    -- What came later corrects what was there before.
    qualify rank() over (
        partition by cluster, pool, "from"
        order by ingested_at desc nulls last, run_id desc nulls last
    ) = 1
)

select
    earlier.cluster,
    earlier.pool,
    earlier.started_at,
    earlier.ended_at,
    earlier.microdollars_per_gpu_hour,
    later.started_at as next_started_at,
    later.microdollars_per_gpu_hour as next_microdollars_per_gpu_hour,
    later.ingested_from
from latest as earlier
inner join latest as later
    on
        earlier.cluster = later.cluster
        and earlier.pool = later.pool
        and (
            (earlier.started_at < later.started_at and earlier.ended_at > later.started_at)
            or (
                earlier.started_at = later.started_at
                and earlier.microdollars_per_gpu_hour < later.microdollars_per_gpu_hour
            )
        )
