-- How long each node was in service and not fit for work inside the window (STANDARD 5.2, a silent check
-- counting as unfit), by the class of the outage that the time lies in. The sum is what
-- rollups.node_health has between service_ms and ok_closed_ms.
--
-- grain: cluster, node_uid, class

with bad as (
    select
        cluster,
        node_uid,
        started_ms,
        ended_ms,
        -- Devices of a node may be out at the same time: then it is out once.
        max(ended_ms) over (
            partition by cluster, node_uid
            order by started_ms, ended_ms
            rows between unbounded preceding and 1 preceding
        ) as reach_ms
    from ledger.node_pieces
    where in_service and not ok_closed
),

spans as (
    select
        cluster,
        node_uid,
        greatest(started_ms, coalesce(reach_ms, started_ms)) as started_ms,
        ended_ms
    from bad
    where ended_ms > coalesce(reach_ms, started_ms)
)

select
    span.cluster,
    span.node_uid,
    coalesce(outage.class, 'unk.none') as class,
    sum(span.ended_ms - span.started_ms) as down_ms
from spans as span
asof left join rollups.node_outages as outage
    on
        span.cluster = outage.cluster
        and span.node_uid = outage.node_uid
        and span.started_ms >= outage.started_ms
group by span.cluster, span.node_uid, outage.class
