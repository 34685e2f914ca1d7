-- Outages of nodes: the outages of a node's devices that overlap or touch are one, with the most
-- specific class and the strongest repair among them. So are unplanned ones less than back_s apart: the
-- node was not back yet (STANDARD 5.4). An outage that is still open has no end; one in which the node
-- was taken away ended with that, by replacement. One that began before the node was ready for the first
-- time is its birth, not a failure.
--
-- grain: cluster, node_uid, started_ms
-- nothing without: ledger.outages

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
        list_position(['replace', 'reboot', 'reset', 'diag'], numbered.action) as action_rank
    from numbered
    left join catalog.taxonomy as taxonomy
        on numbered.class = taxonomy.class
),

merged as (
    select
        cluster,
        node_uid,
        min(started_ms) as started_ms,
        max(coalesce(ended_ms, getvariable('forever_ms'))) as ended_ms,
        -- Planned work on one device does not excuse a fault of another.
        arg_min(class, class_rank + case when planned then 1000 else 0 end) as class,
        arg_min(incident, class_rank + case when planned then 1000 else 0 end) as incident,
        min(class_rank) as class_rank,
        bool_and(coalesce(planned, false)) as planned,
        min(action_rank) as action_rank
    from ranked
    group by cluster, node_uid, run
),

-- What becomes of a node that is gone is nobody's outage.
placed as (
    select
        merged.* replace (
            greatest(merged.started_ms, least(merged.ended_ms, end_ms(node.paid_to))) as ended_ms,
            case when merged.ended_ms > end_ms(node.paid_to) then 1 else merged.action_rank end
                as action_rank
        ),
        node.pool,
        coalesce(merged.started_ms < ms_of(node.ready_at), true) as is_birth
    from merged
    left join staged.nodes as node using (cluster, node_uid)
    where merged.started_ms < end_ms(node.paid_to)
),

chained as (
    select
        *,
        count(*) filter (
            where planned
            or is_birth
            or coalesce(previous.planned or previous.is_birth, true)
            or started_ms >= previous.ended_ms + 1000 * getvariable('back_s')
        ) over (
            partition by cluster, node_uid
            order by started_ms
        ) as chain
    from (
        select
            *,
            lag({'planned': planned, 'is_birth': is_birth, 'ended_ms': ended_ms}) over (
                partition by cluster, node_uid
                order by started_ms
            ) as previous
        from placed
    )
),

outages as (
    select
        cluster,
        node_uid,
        any_value(pool) as pool,
        min(started_ms) as started_ms,
        nullif(max(ended_ms), getvariable('forever_ms')) as ended_ms,
        arg_min(class, class_rank) as class,
        arg_min(incident, class_rank) as incident,
        bool_and(planned) as planned,
        bool_or(is_birth) as is_birth,
        ['replace', 'reboot', 'reset', 'diag'][min(action_rank)] as action
    from chained
    group by cluster, node_uid, chain
)

select
    outages.cluster,
    outages.node_uid,
    outages.pool,
    outages.started_ms,
    outages.ended_ms,
    outages.class,
    taxonomy.domain,
    outages.planned,
    outages.action,
    outages.incident,
    outages.is_birth,
    -- Only these are failures of a node; waits, plans and silent checks are not.
    taxonomy.counts_as like 'interruption%'
    and taxonomy.domain in ('infra', 'unknown')
    and not outages.planned
    and not outages.is_birth as is_failure
from outages
left join catalog.taxonomy as taxonomy on outages.class = taxonomy.class
