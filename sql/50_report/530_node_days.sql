-- Each node's time in service by UTC day, and how much of it was not fully usable. A node is usable
-- only while all its devices are, so spans of its devices are united before they are measured. The
-- unions drop equal spans: ties would let the two window functions below number them differently.
--
-- grain: cluster, node_uid, pool, day

with measured as (
    select cluster, node_uid, pool, 'in_service' as measure, started_ms, ended_ms
    from ledger.node_pieces
    where in_service
    union
    select cluster, node_uid, pool, 'not_ok_closed' as measure, started_ms, ended_ms
    from ledger.node_pieces
    where in_service and not ok_closed
    union
    select cluster, node_uid, pool, 'not_ok_open' as measure, started_ms, ended_ms
    from ledger.node_pieces
    where in_service and not ok_open
    union
    select cluster, node_uid, pool, 'planned' as measure, started_ms, ended_ms
    from ledger.node_pieces
    where in_service and not ok_closed and is_planned
),

reached as (
    select
        *,
        max(ended_ms) over (
            partition by cluster, node_uid, pool, measure
            order by started_ms, ended_ms
            rows between unbounded preceding and 1 preceding
        ) as reach_ms
    from measured
),

numbered as (
    select
        *,
        sum(case when reach_ms is null or started_ms > reach_ms then 1 else 0 end) over (
            partition by cluster, node_uid, pool, measure
            order by started_ms, ended_ms
            rows between unbounded preceding and current row
        ) as island
    from reached
),

spans as (
    select
        cluster,
        node_uid,
        pool,
        measure,
        min(started_ms) as started_ms,
        max(ended_ms) as ended_ms
    from numbered
    group by cluster, node_uid, pool, measure, island
),

days as (
    select
        *,
        unnest(range(started_ms // 86400000, (ended_ms - 1) // 86400000 + 1)) as day_number
    from spans
    where ended_ms > started_ms
),

cut as (
    select
        cluster,
        node_uid,
        pool,
        measure,
        day_number,
        least(ended_ms, (day_number + 1) * 86400000)
        - greatest(started_ms, day_number * 86400000) as span_ms
    from days
)

select
    cluster,
    node_uid,
    pool,
    (date '1970-01-01' + day_number::integer) as day,
    sum(case when measure = 'in_service' then span_ms else 0 end) as in_service_ms,
    sum(case when measure = 'not_ok_closed' then span_ms else 0 end) as not_ok_closed_ms,
    sum(case when measure = 'not_ok_open' then span_ms else 0 end) as not_ok_open_ms,
    sum(case when measure = 'planned' then span_ms else 0 end) as planned_ms
from cut
group by cluster, node_uid, pool, day_number
