-- Outages of nodes: the outages of a node's devices that overlap or touch are one, with the most
-- specific class and the strongest repair among them. An outage that is still open has no end.
-- One that began before the node was ready for the first time is its birth, not a failure.
--
-- grain: cluster, node_uid, started_ms

with ordered as (
    select
        cluster,
        node_uid,
        gpu,
        started_ms,
        ended_ms,
        class,
        planned,
        action,
        incident,
        max(coalesce(ended_ms, getvariable('forever_ms'))) over (
            partition by cluster, node_uid
            order by started_ms, coalesce(ended_ms, getvariable('forever_ms')), gpu
            rows between unbounded preceding and 1 preceding
        ) as known_until_ms
    from ledger.outages
),

numbered as (
    select
        *,
        sum(case when started_ms <= known_until_ms then 0 else 1 end) over (
            partition by cluster, node_uid
            order by started_ms, coalesce(ended_ms, getvariable('forever_ms')), gpu
            rows between unbounded preceding and current row
        ) as run
    from ordered
),

ranked as (
    select
        numbered.*,
        coalesce(taxonomy.precedence, 1000) as class_rank,
        case numbered.action
            when 'replace' then 1 when 'reboot' then 2 when 'reset' then 3 when 'diag' then 4
        end as action_rank
    from numbered
    left join catalog.taxonomy as taxonomy
        on numbered.class = taxonomy.class
),

merged as (
    select
        cluster,
        node_uid,
        min(started_ms) as started_ms,
        nullif(max(coalesce(ended_ms, getvariable('forever_ms'))), getvariable('forever_ms'))
            as ended_ms,
        -- Planned work on one device does not excuse a fault of another.
        arg_min(class, class_rank + case when planned then 1000 else 0 end) as class,
        arg_min(incident, class_rank + case when planned then 1000 else 0 end) as incident,
        bool_and(coalesce(planned, false)) as planned,
        arg_min(action, action_rank) as action
    from ranked
    group by cluster, node_uid, run
)

select
    merged.cluster,
    merged.node_uid,
    nodes.pool,
    merged.started_ms,
    merged.ended_ms,
    merged.class,
    taxonomy.domain,
    merged.planned,
    merged.action,
    merged.incident,
    coalesce(merged.started_ms < epoch_ms(nodes.ready_at), true) as is_birth,
    -- Only these are failures of a node; waits, plans and silent checks are not.
    taxonomy.counts_as like 'interruption%'
    and taxonomy.domain in ('infra', 'unknown')
    and not merged.planned
    and coalesce(merged.started_ms >= epoch_ms(nodes.ready_at), false) as is_failure
from merged
left join staged.nodes as nodes
    on merged.cluster = nodes.cluster and merged.node_uid = nodes.node_uid
left join catalog.taxonomy as taxonomy
    on merged.class = taxonomy.class
