-- How many nodes of each pool fail, and for how long they are gone: what spare nodes are counted from.
--
-- out_hours is the time inside the window in which nodes were out for a failure; planned work and waits
-- do not count.
--
-- grain: cluster, pool

with services as (
    select cluster, pool, count(*) as node_count, sum(service_ms) / 3600000 as service_hours
    from rollups.node_health
    where pool is not null
    group by cluster, pool
),

outages as (
    select
        cluster,
        pool,
        count(*) as failure_count,
        sum(
            least(coalesce(ended_ms, getvariable('forever_ms')), getvariable('window_end_ms'))
            - greatest(started_ms, getvariable('window_start_ms'))
        ) / 3600000 as out_hours
    from rollups.node_outages
    where
        is_failure
        and started_ms < getvariable('window_end_ms')
        and coalesce(ended_ms, getvariable('forever_ms')) > getvariable('window_start_ms')
    group by cluster, pool
)

select
    services.cluster,
    services.pool,
    services.node_count,
    services.service_hours,
    coalesce(outages.failure_count, 0) as failure_count,
    coalesce(outages.out_hours, 0) as out_hours
from services
left join outages using (cluster, pool)
