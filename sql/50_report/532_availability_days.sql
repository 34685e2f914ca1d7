-- Node availability by pool and UTC day, node-weighted, failing closed.
--
-- grain: cluster, pool, day

select
    cluster,
    pool,
    day,
    count(*) as node_count,
    count(*) filter (where not_ok_closed_ms > 0) as affected_node_count,
    sum(in_service_ms) / 3600000 as in_service_node_hours,
    sum(not_ok_closed_ms) / 3600000 as not_ok_node_hours,
    sum(not_ok_open_ms) / 3600000 as not_ok_open_node_hours,
    sum(planned_ms) / 3600000 as planned_node_hours,
    1 - sum(not_ok_closed_ms) / nullif(sum(in_service_ms), 0) as availability_closed
from report.node_days
group by cluster, pool, day
