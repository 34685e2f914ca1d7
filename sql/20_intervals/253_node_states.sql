-- The state of each node, or of a device with a life of its own, ignoring jobs [1.6, 1.9].
--
-- Only abnormal spans have rows; between them the node is available. ok_open ignores staleness,
-- ok_closed does not; neither is broken by cordon or drain [5.2]. What began before the node was paid
-- for begins with it.
--
-- grain: cluster, node_uid, profile, started_ms

with profiles as (
    select distinct
        profile.cluster,
        profile.node_uid,
        profile.profile,
        ms_of(node.paid_from) as paid_from_ms
    from intervals.device_profiles as profile
    inner join staged.nodes as node using (cluster, node_uid)
),

node_spans as (
    select
        cluster,
        node_uid,
        null as gpu,
        'provisioning' as state,
        ms_of(paid_from) as started_ms,
        end_ms(ready_at) as ended_ms,
        false as is_planned
    from staged.nodes

    union all

    select
        cluster,
        node_uid,
        null,
        'deprovisioning',
        ms_of(deleted_at),
        getvariable('forever_ms'),
        false
    from staged.nodes
    where deleted_at is not null

    union all

    select
        cluster,
        node_uid,
        gpu,
        case when type = 'Ready' then 'not_ready' else 'unhealthy' end,
        started_ms,
        ended_ms,
        false
    from intervals.condition_repairs
    where is_blocking

    union all

    select
        cluster,
        node_uid,
        null,
        case kind
            when 'repair' then 'repair.' || action
            when 'drain' then 'draining'
            else 'cordoned'
        end,
        ms_of(started_at),
        end_ms(ended_at),
        is_planned
    from staged.node_admin

    union all
    select cluster, node_uid, null, 'stale', started_ms, ended_ms, false
    from intervals.stale_spans
),

-- Equal spans are one: the two windows below must number them alike.
spans as (
    select distinct
        profiles.cluster,
        profiles.node_uid,
        profiles.profile,
        span.state,
        list_position([
            'provisioning',
            'deprovisioning',
            'repair.replace',
            'repair.reboot',
            'repair.reset',
            'repair.diag',
            'draining',
            'not_ready',
            'unhealthy',
            'stale',
            'cordoned'
        ], span.state) as state_order,
        greatest(span.started_ms, profiles.paid_from_ms) as started_ms,
        span.ended_ms,
        span.is_planned
    from node_spans as span
    inner join profiles
        on
            span.cluster = profiles.cluster
            and span.node_uid = profiles.node_uid
            and (span.gpu is null or span.gpu = profiles.profile)
    where span.ended_ms > greatest(span.started_ms, profiles.paid_from_ms)
),

reached as (
    select
        *,
        max(ended_ms) over (
            partition by cluster, node_uid, profile
            order by started_ms, ended_ms, state_order, is_planned
            rows between unbounded preceding and 1 preceding
        ) as reach_ms
    from spans
),

islands as (
    select
        * exclude (reach_ms),
        sum(case when started_ms > reach_ms then 1 else 0 end) over (
            partition by cluster, node_uid, profile
            order by started_ms, ended_ms, state_order, is_planned
            rows between unbounded preceding and current row
        ) as island
    from reached
),

edges as (
    select cluster, node_uid, profile, island, started_ms as edge_ms from islands
    union
    select cluster, node_uid, profile, island, ended_ms from islands
),

slots as (
    select
        *,
        lead(edge_ms) over (
            partition by cluster, node_uid, profile, island
            order by edge_ms
        ) as next_ms
    from edges
),

-- Within a slot nothing begins or ends: a state holds in it if something of that state that began
-- before it reaches its end. An island may have thousands of both, which must not meet pairwise.
chances as (
    select
        slot.cluster,
        slot.node_uid,
        slot.profile,
        slot.island,
        kind.state,
        kind.state_order,
        kind.is_planned,
        slot.edge_ms as at_ms,
        slot.next_ms,
        cast(null as bigint) as reach_ms
    from slots as slot
    inner join (
        select distinct cluster, node_uid, profile, island, state, state_order, is_planned
        from islands
    ) as kind using (cluster, node_uid, profile, island)
    where slot.next_ms > slot.edge_ms

    union all

    select
        cluster,
        node_uid,
        profile,
        island,
        state,
        state_order,
        is_planned,
        started_ms,
        null,
        ended_ms
    from islands
),

reaching as (
    select
        *,
        max(reach_ms) over (
            partition by cluster, node_uid, profile, island, state_order, is_planned
            order by at_ms
        ) as reached_ms
    from chances
)

select
    cluster,
    node_uid,
    profile,
    island,
    at_ms as started_ms,
    next_ms as ended_ms,
    arg_min(state, state_order) as node_state,
    -- Of two of the same state, one of which was planned, the other counts.
    arg_min(is_planned, 2 * state_order + cast(is_planned as integer)) as is_planned,
    min(state_order) > 2 as in_service,
    not bool_or(
        state in ('provisioning', 'deprovisioning', 'not_ready', 'unhealthy')
        or state like 'repair.%'
    ) as ok_open,
    not bool_or(
        state in ('provisioning', 'deprovisioning', 'not_ready', 'unhealthy', 'stale')
        or state like 'repair.%'
    ) as ok_closed
from reaching
where reached_ms >= next_ms
group by cluster, node_uid, profile, island, at_ms, next_ms
