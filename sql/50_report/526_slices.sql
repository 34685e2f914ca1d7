-- Paid GPU time by everything that the page filters by: what the GPUs did, and the class that lost
-- time is charged to. Sums over any choice of pool, namespace, team and class are sums of its rows.
--
-- grain: cluster, pool, namespace, team, state_group, class

with booked as (
    select
        gpu_time.cluster,
        gpu_time.pool,
        gpu_time.namespace,
        gpu_time.team,
        coalesce(states.state_group, 'unknown') as state_group,
        case when gpu_time.is_lost then gpu_time.cause end as class,
        gpu_time.unit_ms
    from rollups.gpu_time as gpu_time
    left join catalog.states as states on gpu_time.state = states.state
    where gpu_time.cluster = gpu_time.member
)

select
    cluster,
    pool,
    namespace,
    team,
    state_group,
    class,
    sum(unit_ms) / 5040 / 3600000 as gpu_hours
from booked
group by cluster, pool, namespace, team, state_group, class
