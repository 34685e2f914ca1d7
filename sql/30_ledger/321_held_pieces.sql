-- Spans of pods joined with the state of their node: what is
-- booked on the pod's devices in the window.
--
-- After the attempt is over a node that is down beats teardown, and a node that is not available
-- always beats a reservation: that time goes to the node [1.4].
--
-- grain: pod_id, profile_id, started_ms

with held as (
    select distinct
        pod.pod_id,
        pod.profile_id,
        device.started_ms as paid_from_ms,
        device.ended_ms as paid_to_ms
    from ledger.pod_groups as pod
    inner join ledger.device_groups as device using (group_id)
),

lives as (
    select pod_id, min(started_ms) as started_ms, max(ended_ms) as ended_ms
    from intervals.pod_spans
    group by pod_id
),

-- Most pods live on nodes that are available throughout: their pieces need no cutting.
troubled as (
    select distinct held.pod_id, held.profile_id
    from held
    inner join lives using (pod_id)
    inner join ledger.node_pieces as node
        on
            held.profile_id = node.profile_id
            and lives.started_ms < node.ended_ms
            and lives.ended_ms > node.started_ms
    where node.node_state <> 'available'
)

select
    piece.pod_id,
    held.profile_id,
    greatest(piece.started_ms, held.paid_from_ms) as started_ms,
    least(piece.ended_ms, held.paid_to_ms) as ended_ms,
    piece.charge_id,
    piece.attempt_id,
    'available' as node_state
from intervals.pod_spans as piece
inner join held using (pod_id)
anti join troubled using (pod_id, profile_id)
where least(piece.ended_ms, held.paid_to_ms) > greatest(piece.started_ms, held.paid_from_ms)

union all

select
    piece.pod_id,
    troubled.profile_id,
    greatest(piece.started_ms, node.started_ms) as started_ms,
    least(piece.ended_ms, node.ended_ms) as ended_ms,
    piece.charge_id,
    piece.attempt_id,
    node.node_state
from intervals.pod_spans as piece
inner join troubled using (pod_id)
left join intervals.charges as charge using (charge_id)
inner join ledger.node_pieces as node
    on
        troubled.profile_id = node.profile_id
        and piece.started_ms < node.ended_ms
        and piece.ended_ms > node.started_ms
where
    case charge.state
        when 'A.teardown' then node.node_state in ('available', 'cordoned', 'draining')
        when 'I.reserved' then node.node_state = 'available'
        else true
    end
