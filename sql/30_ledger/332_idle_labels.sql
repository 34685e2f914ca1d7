-- The label of all idle GPUs of a pool while work is queued: does any of the work fit [1.7]?
--
-- Per shape of pod (GPUs per pod) the free slots of a pool are a running
-- sum over the changes of each node's completely free, schedulable GPUs;
-- shapes of workload are few, so this is linear in changes.
--
-- grain: cluster, pool, started_ms

with free_devices as (
    select node_id, gpu_count, started_ms, ended_ms
    from ledger.free_pieces
    where node_state = 'available' and free_units = 5040
),

changes as (
    select node_id, changed_ms, sum(change) as change
    from (
        select node_id, started_ms as changed_ms, gpu_count as change
        from free_devices
        union all
        select node_id, ended_ms, -gpu_count from free_devices
    )
    group by node_id, changed_ms
    having sum(change) <> 0
),

node_free as (
    select
        node_id,
        changed_ms,
        sum(change) over on_node as free_count,
        sum(change) over on_node - change as free_before
    from changes
    window on_node as (partition by node_id order by changed_ms)
),

workloads as (
    select
        cluster,
        pool,
        pods,
        gpus_per_pod,
        ms_of(started_at) as started_ms,
        end_ms(ended_at) as ended_ms
    from staged.queue
    where not is_suspended and (ended_at is null or ended_at > started_at)
),

shapes as (
    select distinct cluster, pool, gpus_per_pod
    from workloads
),

nodes as (
    select distinct node_id, cluster, pool
    from ledger.device_groups
),

slot_changes as (
    select
        nodes.cluster,
        nodes.pool,
        shapes.gpus_per_pod,
        node_free.changed_ms,
        sum(
            node_free.free_count // shapes.gpus_per_pod
            - node_free.free_before // shapes.gpus_per_pod
        ) as slot_change,
        sum(node_free.free_count - node_free.free_before) as free_change
    from node_free
    inner join nodes using (node_id)
    inner join shapes using (cluster, pool)
    group by nodes.cluster, nodes.pool, shapes.gpus_per_pod, node_free.changed_ms
),

-- What waits, by the size of a workload: how many of each at every change of the queue.
sizes as (
    select
        row_number() over (order by cluster, pool, pods, gpus_per_pod) as size_id,
        *
    from (select distinct cluster, pool, pods, gpus_per_pod from workloads)
),

demand_changes as (
    select size_id, changed_ms, sum(change) as change
    from (
        select sizes.size_id, workloads.started_ms as changed_ms, 1 as change
        from workloads
        inner join sizes using (cluster, pool, pods, gpus_per_pod)
        union all
        select sizes.size_id, workloads.ended_ms, -1
        from workloads
        inner join sizes using (cluster, pool, pods, gpus_per_pod)
    )
    group by size_id, changed_ms
),

demand_edges as (
    select distinct sizes.cluster, sizes.pool, demand_changes.changed_ms
    from demand_changes
    inner join sizes using (size_id)
),

waiting as (
    select
        edge.cluster,
        edge.pool,
        edge.changed_ms,
        size.pods,
        size.gpus_per_pod,
        sum(coalesce(demand.change, 0)) over (
            partition by size.size_id
            order by edge.changed_ms
        ) as waiting_count
    from demand_edges as edge
    inner join sizes as size using (cluster, pool)
    left join demand_changes as demand
        on size.size_id = demand.size_id and edge.changed_ms = demand.changed_ms
),

-- If the smallest workload of a shape does not fit, none of that shape does.
smallest as (
    select
        cluster,
        pool,
        gpus_per_pod,
        changed_ms,
        coalesce(min(pods) filter (where waiting_count > 0), 0) as pods
    from waiting
    group by cluster, pool, gpus_per_pod, changed_ms
),

-- Every instant at which anything of the pool changes.
edges as (
    select cluster, pool, changed_ms as edge_ms from slot_changes
    union
    select cluster, pool, changed_ms from demand_edges
    union
    select cluster, pool, started_ms from ledger.pool_demand
),

grid as (
    select
        edges.cluster,
        edges.pool,
        edges.edge_ms,
        shapes.gpus_per_pod,
        last_value(smallest.pods ignore nulls) over by_shape as pods,
        sum(coalesce(slots.slot_change, 0)) over by_shape as slot_count,
        sum(coalesce(slots.free_change, 0)) over by_shape as free_count
    from edges
    inner join shapes using (cluster, pool)
    left join smallest
        on
            edges.cluster = smallest.cluster
            and edges.pool = smallest.pool
            and edges.edge_ms = smallest.changed_ms
            and shapes.gpus_per_pod = smallest.gpus_per_pod
    left join slot_changes as slots
        on
            edges.cluster = slots.cluster
            and edges.pool = slots.pool
            and edges.edge_ms = slots.changed_ms
            and shapes.gpus_per_pod = slots.gpus_per_pod
    window by_shape as (
        partition by edges.cluster, edges.pool, shapes.gpus_per_pod
        order by edges.edge_ms
    )
),

fitted as (
    select
        cluster,
        pool,
        edge_ms,
        case
            when bool_or(slot_count >= pods) then 'I.sched_delay'
            when bool_or(cast(pods as bigint) * gpus_per_pod <= free_count) then 'I.fragmented'
            else 'I.shortfall'
        end as state
    from grid
    where pods > 0
    group by cluster, pool, edge_ms
),

all_edges as (
    select
        edges.cluster,
        edges.pool,
        edges.edge_ms as started_ms,
        lead(edges.edge_ms, 1, getvariable('forever_ms')) over (
            partition by edges.cluster, edges.pool
            order by edges.edge_ms
        ) as ended_ms,
        fitted.state
    from edges
    left join fitted using (cluster, pool, edge_ms)
),

labelled as (
    select
        edge.cluster,
        edge.pool,
        edge.started_ms,
        edge.ended_ms,
        edge.state,
        coalesce(
            demand.cause,
            case when edge.state = 'I.shortfall' then 'plat.capacity' else 'plat.sched' end
        ) as cause,
        case when demand.cause is not null then demand.cause_job end as cause_job,
        case when demand.cause is not null then demand.cause_attempt end as cause_attempt
    from all_edges as edge
    -- Pieces of demand are disjoint: only the last one that began can hold the edge.
    asof join ledger.pool_demand as demand
        on
            edge.cluster = demand.cluster
            and edge.pool = demand.pool
            and edge.started_ms >= demand.started_ms
    where
        edge.started_ms < demand.ended_ms
        and edge.state is not null
        and edge.ended_ms > edge.started_ms
),

runs as (
    select *, sum(is_new) over (partition by cluster, pool order by started_ms) as run
    from (
        select
            *,
            case
                when
                    lag(ended_ms) over in_pool = started_ms
                    and lag(state) over in_pool = state
                    and lag(cause) over in_pool = cause
                    and cause_job is not distinct from lag(cause_job) over in_pool
                    and cause_attempt is not distinct from lag(cause_attempt) over in_pool
                    then 0
                else 1
            end as is_new
        from labelled
        window in_pool as (partition by cluster, pool order by started_ms)
    )
)

select
    cluster,
    pool,
    min(started_ms) as started_ms,
    max(ended_ms) as ended_ms,
    any_value(state) as state,
    any_value(cause) as cause,
    any_value(cause_job) as cause_job,
    any_value(cause_attempt) as cause_attempt
from runs
group by cluster, pool, run
