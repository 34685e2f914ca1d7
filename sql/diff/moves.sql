-- Whose GPU-time moved, from which state and cause to which, per job or (where no job holds it) node.
--
-- The two builds are laid over each other device by device: every instant of both is cut wherever either
-- changes, so a move has the interval in which it lies.

with edges as (
    select cluster, node_uid, gpu, pod_uid, started_at as edge_at from earlier.ledger.gpu_time
    union
    select cluster, node_uid, gpu, pod_uid, ended_at from earlier.ledger.gpu_time
    union
    select cluster, node_uid, gpu, pod_uid, started_at from later.ledger.gpu_time
    union
    select cluster, node_uid, gpu, pod_uid, ended_at from later.ledger.gpu_time
),

slots as (
    select
        *,
        lead(edge_at) over (partition by cluster, node_uid, gpu, pod_uid order by edge_at) as next_at
    from edges
),

laid as (
    select
        slot.cluster,
        slot.node_uid,
        slot.edge_at,
        slot.next_at,
        coalesce(later_row.node_name, earlier_row.node_name) as node_name,
        coalesce(later_row.job, earlier_row.job) as job,
        earlier_row.state as earlier_state,
        earlier_row.cause as earlier_cause,
        later_row.state as later_state,
        later_row.cause as later_cause,
        greatest(
            coalesce(later_row.unit_ms // (epoch_ms(later_row.ended_at) - epoch_ms(later_row.started_at)), 0),
            coalesce(earlier_row.unit_ms // (epoch_ms(earlier_row.ended_at) - epoch_ms(earlier_row.started_at)), 0)
        ) as unit_count
    from slots as slot
    left join earlier.ledger.gpu_time as earlier_row
        on slot.cluster = earlier_row.cluster
        and slot.node_uid is not distinct from earlier_row.node_uid
        and slot.gpu = earlier_row.gpu
        and slot.pod_uid is not distinct from earlier_row.pod_uid
        and slot.edge_at >= earlier_row.started_at
        and slot.edge_at < earlier_row.ended_at
    left join later.ledger.gpu_time as later_row
        on slot.cluster = later_row.cluster
        and slot.node_uid is not distinct from later_row.node_uid
        and slot.gpu = later_row.gpu
        and slot.pod_uid is not distinct from later_row.pod_uid
        and slot.edge_at >= later_row.started_at
        and slot.edge_at < later_row.ended_at
    where slot.next_at is not null
)

select
    laid.cluster,
    laid.job,
    any_value(job.name) as job_name,
    case when laid.job is null then laid.node_name end as node,
    min(laid.edge_at) as started_at,
    max(laid.next_at) as ended_at,
    laid.earlier_state,
    laid.earlier_cause,
    laid.later_state,
    laid.later_cause,
    sum(laid.unit_count * (epoch_ms(laid.next_at) - epoch_ms(laid.edge_at))) / (5040 * 3600000.0) as gpu_hours
from laid
left join later.staged.jobs as job on laid.cluster = job.cluster and laid.job = job.job
where laid.earlier_state is distinct from laid.later_state
    or laid.earlier_cause is distinct from laid.later_cause
group by
    laid.cluster,
    laid.job,
    case when laid.job is null then laid.node_name end,
    laid.earlier_state,
    laid.earlier_cause,
    laid.later_state,
    laid.later_cause
having sum(laid.unit_count) > 0
order by gpu_hours desc, laid.cluster, laid.job, node, started_at
