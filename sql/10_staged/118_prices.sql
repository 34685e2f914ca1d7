-- Prices of pools, each until its end or until the next one begins, whatever it says of the time after
-- [5.13].
--
-- grain: cluster, pool, started_at

with newest as (
    select *
    from gathered.prices
    qualify row_number() over (
        partition by cluster, pool, "from"
        order by ingested_at desc nulls last, run_id desc nulls last, row_id desc nulls last
    ) = 1
)

select
    cluster,
    pool,
    "from" as started_at,
    least(
        "to", lead("from") over (partition by cluster, pool order by "from")
    ) as ended_at,
    microdollars_per_gpu_hour
from newest
