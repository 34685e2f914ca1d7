-- When Karpenter refused to repair nodes of a pool, as too many of it were unhealthy (STANDARD 5.8):
-- spans inside the window in which at least one node was refused.
--
-- A node is refused from its first refusal on. Karpenter looks at it again every five minutes, so it is
-- refused until repair_blocked_s after the last one, and no longer than until the node is well again,
-- drained, repaired or gone.
--
-- grain: cluster, pool, started_ms
-- nothing without: staged.evidence

with refusals as (
    select
        cluster,
        node_uid,
        coalesce(ms_of(started_at), ms_of(observed_at)) as started_ms,
        coalesce(ms_of(ended_at), ms_of(observed_at)) as refused_ms
    from staged.evidence
    where source = 'event' and value = 'NodeRepairBlocked' and node_uid is not null
),

reached as (
    select
        *,
        max(refused_ms) over (
            partition by cluster, node_uid
            order by started_ms, refused_ms
            rows between unbounded preceding and 1 preceding
        ) as reach_ms
    from refusals
),

numbered as (
    select
        *,
        count(*) filter (
            where coalesce(started_ms - reach_ms > 1000 * getvariable('repair_blocked_s'), true)
        ) over (
            partition by cluster, node_uid order by started_ms, refused_ms
        ) as spell
    from reached
),

spells as (
    select
        cluster,
        node_uid,
        min(started_ms) as started_ms,
        max(refused_ms) as refused_ms
    from numbered
    group by cluster, node_uid, spell
),

-- What a refused node turns into when it waits no more.
turns as (
    select cluster, node_uid, started_ms as turned_ms
    from ledger.node_pieces
    where node_state not in ('unhealthy', 'not_ready', 'stale', 'cordoned')
    union all
    select cluster, node_uid, max(ended_ms)
    from ledger.node_pieces
    group by cluster, node_uid
),

nodes as (
    select distinct cluster, pool, node_uid from ledger.node_pieces
),

blocked as (
    select
        spells.cluster,
        nodes.pool,
        greatest(spells.started_ms, getvariable('window_start_ms')) as started_ms,
        least(
            spells.refused_ms + 1000 * getvariable('repair_blocked_s'),
            min(turns.turned_ms),
            getvariable('as_of_ms'),
            getvariable('window_end_ms')
        ) as ended_ms
    from spells
    inner join nodes using (cluster, node_uid)
    left join turns
        on
            spells.cluster = turns.cluster
            and spells.node_uid = turns.node_uid
            and spells.refused_ms < turns.turned_ms
    group by
        spells.cluster, nodes.pool, spells.node_uid, spells.started_ms, spells.refused_ms
),

placed as (
    select
        *,
        max(ended_ms) over (
            partition by cluster, pool
            order by started_ms, ended_ms
            rows between unbounded preceding and 1 preceding
        ) as reach_ms
    from blocked
    where ended_ms > started_ms
),

united as (
    select
        *,
        count(*) filter (where coalesce(started_ms > reach_ms, true)) over (
            partition by cluster, pool order by started_ms, ended_ms
        ) as span
    from placed
)

select
    cluster,
    pool,
    min(started_ms) as started_ms,
    max(ended_ms) as ended_ms
from united
group by cluster, pool, span
