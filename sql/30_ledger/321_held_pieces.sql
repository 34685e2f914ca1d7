-- Spans of pods joined with the state of their node: what is
-- booked on the pod's devices in the window.
--
-- After the attempt is over a node that is down beats teardown, and a node that is not available
-- always beats a reservation: that time goes to the node [1.4].
--
-- grain: pod_id, profile_id, started_ms

with spans as not materialized (
    select *
    from intervals.pod_spans
    where
        started_ms < getvariable('window_end_ms')
        and ended_ms > getvariable('window_start_ms')
),

lives as (
    select
        held.pod_id,
        held.profile_id,
        life.started_ms,
        life.ended_ms
    from (select distinct pod_id, profile_id from ledger.pod_groups) as held
    inner join (
        select pod_id, min(started_ms) as started_ms, max(ended_ms) as ended_ms
        from spans
        group by pod_id
    ) as life using (pod_id)
),

-- Most pods live while their node is paid for and available: their spans need no cutting.
untroubled as (
    select lives.pod_id, lives.profile_id
    from lives
    semi join (
        select * from ledger.node_pieces
        where node_state = 'available'
    ) as node
        on
            lives.profile_id = node.profile_id
            and lives.started_ms >= node.started_ms
            and lives.ended_ms <= node.ended_ms
),

-- The pieces of the node that each of the others lives through.
troubled as (
    select
        lives.pod_id,
        lives.profile_id,
        node.started_ms,
        node.ended_ms,
        node.node_state
    from lives
    anti join untroubled using (pod_id, profile_id)
    inner join ledger.node_pieces as node
        on
            lives.profile_id = node.profile_id
            and lives.started_ms < node.ended_ms
            and lives.ended_ms > node.started_ms
)

select
    span.pod_id,
    untroubled.profile_id,
    span.started_ms,
    span.ended_ms,
    span.charge_id,
    span.attempt_id,
    'available' as node_state
from spans as span
inner join untroubled using (pod_id)

union all

select
    span.pod_id,
    node.profile_id,
    greatest(span.started_ms, node.started_ms) as started_ms,
    least(span.ended_ms, node.ended_ms) as ended_ms,
    span.charge_id,
    span.attempt_id,
    node.node_state
from spans as span
inner join troubled as node
    on
        span.pod_id = node.pod_id
        and span.started_ms < node.ended_ms
        and span.ended_ms > node.started_ms
left join intervals.charges as charge using (charge_id)
where
    case charge.state
        when 'A.teardown' then node.node_state in ('available', 'cordoned', 'draining')
        when 'I.reserved' then node.node_state = 'available'
        else true
    end
