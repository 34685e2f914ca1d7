-- The label of all idle GPUs of a pool while work is queued: does any of the work fit [1.7]?
--
-- Per shape of pod (GPUs per pod) the free slots of a pool are a running
-- sum over the changes of each node's completely free, schedulable GPUs;
-- shapes of workload are few, so this is linear in changes.
--
-- grain: cluster, pool, started_ms
-- nothing without: staged.queue

-- Of the queue, what touches the window.
with workloads as (
    select
        dense_rank() over (order by cluster, pool) as pool_id,
        cluster,
        pool,
        pods,
        gpus_per_pod,
        ms_of(started_at) as started_ms,
        end_ms(ended_at) as ended_ms
    from staged.queue
    where
        not is_suspended
        and (ended_at is null or ended_at > started_at)
        and ms_of(started_at) < getvariable('window_end_ms')
        and end_ms(ended_at) > getvariable('window_start_ms')
),

pools as (
    select distinct pool_id, cluster, pool
    from workloads
),

shapes as (
    select distinct pool_id, gpus_per_pod
    from workloads
),

demand as (
    select pools.pool_id, demand.*
    from ledger.pool_demand as demand
    inner join pools using (cluster, pool)
    where
        demand.started_ms < getvariable('window_end_ms')
        and demand.ended_ms > getvariable('window_start_ms')
),

nodes as (
    select distinct device.node_id, pools.pool_id
    from ledger.device_groups as device
    inner join pools using (cluster, pool)
),

-- What is free on a node is nothing again after its last change, so that one running sum over all
-- nodes, one after the other, is right for each; it needs no partitions and streams.
node_free as (
    select
        node_id,
        changed_ms,
        change,
        cast(sum(change) over (rows between unbounded preceding and current row) as integer)
            as free_count
    from (
        select node_id, started_ms as changed_ms, gpu_count as change
        from ledger.free_pieces
        where node_state = 'available' and free_units = 5040

        union all

        select node_id, ended_ms, -gpu_count
        from ledger.free_pieces
        where node_state = 'available' and free_units = 5040

        order by node_id, changed_ms
    )
),

slot_changes as (
    select
        nodes.pool_id,
        shapes.gpus_per_pod,
        node_free.changed_ms,
        sum(
            node_free.free_count // shapes.gpus_per_pod
            - (node_free.free_count - node_free.change) // shapes.gpus_per_pod
        ) as slot_change,
        sum(node_free.change) as free_change
    from node_free
    inner join nodes using (node_id)
    inner join shapes using (pool_id)
    group by nodes.pool_id, shapes.gpus_per_pod, node_free.changed_ms
),

-- What waits, by the size of a workload: how many of each at every change of the queue.
demand_changes as (
    select pool_id, gpus_per_pod, pods, changed_ms, sum(change) as change
    from (
        select pool_id, gpus_per_pod, pods, started_ms as changed_ms, 1 as change
        from workloads
        union all
        select pool_id, gpus_per_pod, pods, ended_ms, -1
        from workloads
    )
    group by pool_id, gpus_per_pod, pods, changed_ms
),

demand_edges as (
    select
        pool_id,
        changed_ms,
        row_number() over (partition by pool_id order by changed_ms) as edge_number
    from (select distinct pool_id, changed_ms from demand_changes)
),

waiting as (
    select
        demand.*,
        edge.edge_number,
        sum(demand.change) over by_size as waiting_count,
        lead(edge.edge_number) over by_size as next_number
    from demand_changes as demand
    inner join demand_edges as edge using (pool_id, changed_ms)
    window by_size as (
        partition by demand.pool_id, demand.gpus_per_pod, demand.pods
        order by edge.edge_number
    )
),

-- If the smallest workload of a shape does not fit, none of that shape does.
smallest as (
    select pool_id, gpus_per_pod, edge_number, min(pods) as pods
    from (
        select pool_id, gpus_per_pod, pods, unnest(range(edge_number, next_number)) as edge_number
        from waiting
        where waiting_count > 0
    )
    group by pool_id, gpus_per_pod, edge_number
),

-- Every instant at which anything of the pool changes.
edges as (
    select pool_id, changed_ms as edge_ms from slot_changes
    union
    select pool_id, changed_ms from demand_edges
    union
    select pool_id, started_ms from demand
),

grid as (
    select
        edges.pool_id,
        edges.edge_ms,
        shapes.gpus_per_pod,
        last_value(
            case when demand.edge_number is not null then coalesce(smallest.pods, 0) end
            ignore nulls
        ) over by_shape as pods,
        sum(coalesce(slots.slot_change, 0)) over by_shape as slot_count,
        sum(coalesce(slots.free_change, 0)) over by_shape as free_count
    from edges
    inner join shapes using (pool_id)
    left join demand_edges as demand
        on edges.pool_id = demand.pool_id and edges.edge_ms = demand.changed_ms
    left join smallest
        on
            demand.pool_id = smallest.pool_id
            and demand.edge_number = smallest.edge_number
            and shapes.gpus_per_pod = smallest.gpus_per_pod
    left join slot_changes as slots
        on
            edges.pool_id = slots.pool_id
            and edges.edge_ms = slots.changed_ms
            and shapes.gpus_per_pod = slots.gpus_per_pod
    window by_shape as (
        partition by edges.pool_id, shapes.gpus_per_pod
        order by edges.edge_ms
    )
),

fitted as (
    select
        pool_id,
        edge_ms,
        case
            when bool_or(slot_count >= pods) then 'I.sched_delay'
            when bool_or(cast(pods as bigint) * gpus_per_pod <= free_count) then 'I.fragmented'
            else 'I.shortfall'
        end as state
    from grid
    where pods > 0
    group by pool_id, edge_ms
),

all_edges as (
    select
        edges.pool_id,
        edges.edge_ms as started_ms,
        lead(edges.edge_ms, 1, getvariable('forever_ms')) over (
            partition by edges.pool_id
            order by edges.edge_ms
        ) as ended_ms,
        fitted.state
    from edges
    left join fitted using (pool_id, edge_ms)
),

labelled as (
    select
        edge.pool_id,
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
    asof join demand
        on
            edge.pool_id = demand.pool_id
            and edge.started_ms >= demand.started_ms
    where
        edge.started_ms < demand.ended_ms
        and edge.state is not null
        and edge.ended_ms > edge.started_ms
),

runs as (
    select *, sum(is_new) over (partition by pool_id order by started_ms) as run
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
        window in_pool as (partition by pool_id order by started_ms)
    )
)

select
    pools.cluster,
    pools.pool,
    min(runs.started_ms) as started_ms,
    max(runs.ended_ms) as ended_ms,
    any_value(runs.state) as state,
    any_value(runs.cause) as cause,
    any_value(runs.cause_job) as cause_job,
    any_value(runs.cause_attempt) as cause_attempt
from runs
inner join pools using (pool_id)
group by pools.cluster, pools.pool, runs.run
