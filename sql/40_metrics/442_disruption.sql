-- How much of a pool was out of service at once, against its disruption budget (STANDARD 5.8): nodes that
-- were draining, under repair or not ready. disruption_max_share is the largest share of a pool's nodes
-- at any instant, disruption_over_hours how long more were out than disruption_pct of them, rounded up,
-- and disruption_blocked_gpu_hours the GPU time of unhealthy nodes and devices while the budget was used
-- up, so that their repair had to wait. event_count is the largest number of nodes out at once; numerator
-- and denominator are nodes, and hours of the pool.
-- repair_blocked_seconds is how long Karpenter said that it refused to repair nodes of the pool
-- (rollups.repair_refusals, of which event_count are the spans), out of the seconds in which events were
-- seen; null where nobody listed any.
--
-- grain: cluster, metric, scope, scope_value

with present as (
    select
        cluster,
        pool,
        node_uid,
        min(started_ms) as started_ms,
        max(ended_ms) as ended_ms
    from ledger.node_pieces
    group by cluster, pool, node_uid
),

-- Devices of a node may have pieces of their own: their union is the node's.
disrupted as (
    select
        cluster,
        pool,
        node_uid,
        started_ms,
        ended_ms,
        max(ended_ms) over (
            partition by cluster, node_uid
            order by started_ms, ended_ms
            rows between unbounded preceding and 1 preceding
        ) as reach_ms
    from ledger.node_pieces
    where node_state in ('draining', 'not_ready') or node_state like 'repair.%'
),

moves as (
    select cluster, pool, started_ms as edge_ms, 1 as node_step, 0 as out_step from present
    union all
    select cluster, pool, ended_ms, -1, 0 from present
    union all
    select cluster, pool, greatest(started_ms, coalesce(reach_ms, started_ms)), 0, 1
    from disrupted
    where ended_ms > coalesce(reach_ms, started_ms)
    union all
    select cluster, pool, ended_ms, 0, -1
    from disrupted
    where ended_ms > coalesce(reach_ms, started_ms)
),

edges as (
    select
        cluster,
        pool,
        edge_ms,
        sum(node_step) as node_step,
        sum(out_step) as out_step
    from moves
    group by cluster, pool, edge_ms
),

slots as (
    select
        cluster,
        pool,
        edge_ms as started_ms,
        lead(edge_ms) over in_pool as ended_ms,
        sum(node_step) over in_pool as node_count,
        sum(out_step) over in_pool as out_count
    from edges
    window in_pool as (partition by cluster, pool order by edge_ms)
),

budgets as (
    select
        *,
        ceil(node_count * getvariable('disruption_pct') / 100) as limit_count
    from slots
    where ended_ms is not null and node_count > 0
),

blocked as (
    select
        piece.cluster,
        piece.pool,
        sum(
            device.device_count * (
                least(piece.ended_ms, budget.ended_ms)
                - greatest(piece.started_ms, budget.started_ms)
            )
        ) as gpu_ms
    from ledger.node_pieces as piece
    inner join (
        select cluster, node_uid, profile, count(*) as device_count
        from ledger.devices
        group by cluster, node_uid, profile
    ) as device using (cluster, node_uid, profile)
    inner join budgets as budget
        on
            piece.cluster = budget.cluster
            and piece.pool = budget.pool
            and piece.started_ms < budget.ended_ms
            and piece.ended_ms > budget.started_ms
    where piece.node_state = 'unhealthy' and budget.out_count >= budget.limit_count
    group by piece.cluster, piece.pool
),

pools as (
    select
        cluster,
        pool,
        max(out_count) as out_count,
        max(out_count / node_count) as out_share,
        arg_max({'out': out_count, 'nodes': node_count}, out_count / node_count) as fullest,
        sum(case when out_count > limit_count then ended_ms - started_ms else 0 end) as over_ms,
        sum(ended_ms - started_ms) as pool_ms
    from budgets
    group by cluster, pool
),

refused as (
    select
        pools.cluster,
        pools.pool,
        case
            when count(refusal.started_ms) > 0 or count(sight.seen_ms) > 0
                then coalesce(sum(refusal.ended_ms - refusal.started_ms), 0)
        end as blocked_ms,
        count(refusal.started_ms) as refusal_count,
        any_value(sight.seen_ms) as seen_ms
    from pools
    left join rollups.repair_refusals as refusal using (cluster, pool)
    left join rollups.event_sight as sight using (cluster)
    group by pools.cluster, pools.pool
),

figures as (
    select
        'disruption_max_share' as metric,
        cluster,
        'pool' as scope,
        pool as scope_value,
        out_share as value,
        fullest.out as numerator,
        fullest.nodes as denominator,
        out_count as event_count,
        'ratio' as unit
    from pools
    union all by name
    select
        'disruption_over_hours' as metric,
        cluster,
        'pool' as scope,
        pool as scope_value,
        over_ms / 3600000 as value,
        over_ms / 3600000 as numerator,
        pool_ms / 3600000 as denominator,
        out_count as event_count,
        'hours' as unit
    from pools
    union all by name
    select
        'disruption_blocked_gpu_hours' as metric,
        pools.cluster,
        'pool' as scope,
        pools.pool as scope_value,
        coalesce(blocked.gpu_ms, 0) / 3600000 as value,
        pools.out_count as event_count,
        'GPU-hours' as unit
    from pools
    left join blocked using (cluster, pool)
    union all by name
    select
        'repair_blocked_seconds' as metric,
        cluster,
        'pool' as scope,
        pool as scope_value,
        blocked_ms / 1000 as value,
        blocked_ms / 1000 as numerator,
        seen_ms / 1000 as denominator,
        refusal_count as event_count,
        'seconds' as unit
    from refused
)

select * from metric_rows(figures)
