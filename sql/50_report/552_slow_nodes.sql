-- Nodes that were slow: those that slowness follows from gang to gang, and those that a condition or
-- a log names as the reason of slow steps. A gang is a set of nodes that ran a lineage together.
--
-- grain: cluster, node_uid

with named as (
    select
        cluster,
        node_uid,
        count(*) as named_count,
        sum(ended_ms - started_ms) / 3600000 as named_hours,
        list(distinct class order by class) as classes
    from intervals.slow_segments
    where
        node_uid is not null
        and started_ms < getvariable('window_end_ms')
        and ended_ms > getvariable('window_start_ms')
    group by cluster, node_uid
)

select
    coalesce(suspect.cluster, named.cluster) as cluster,
    coalesce(suspect.node_uid, named.node_uid) as node_uid,
    nodes.node_name,
    nodes.pool,
    suspect.gangs_with,
    suspect.slow_with,
    suspect.gangs_without,
    suspect.slow_without,
    suspect.p_value,
    coalesce(named.named_count, 0) as named_count,
    coalesce(named.named_hours, 0) as named_hours,
    coalesce(named.classes, []) as classes
from intervals.slow_suspects as suspect
full outer join named
    on suspect.cluster = named.cluster and suspect.node_uid = named.node_uid
left join report.nodes as nodes
    on
        coalesce(suspect.cluster, named.cluster) = nodes.cluster
        and coalesce(suspect.node_uid, named.node_uid) = nodes.node_uid
