-- Conditions of single GPUs: tainted by their DRA driver, or no longer offered by the device plugin.
--
-- A taint that keeps pods away blocks its device [STANDARD 1.3]. Fewer allocatable GPUs than the node has
-- means that some are unhealthy; which ones is unknown, so the highest indices stand for them. None at
-- all is a silent plugin and says nothing.
--
-- grain: row

with taints as (
    select distinct
        slice.cluster,
        coalesce(slice.node_uid, node.node_uid) as node_uid,
        slice.gpu,
        taint.key,
        taint.value,
        coalesce(taint."timeAdded", slice.first_seen_at) as started_at,
        slice.driver,
        slice.pool,
        slice.generation
    from (select *, unnest(taints) as taint from observed.slice_devices) as slice
    left join observed.nodes_kube as node
        on slice.cluster = node.cluster and slice.node_name = node.name and slice.node_uid is null
    where taint.effect in ('NoSchedule', 'NoExecute')
),

generations as (
    select
        cluster,
        driver,
        pool,
        generation,
        lead(min(first_seen_at))
            over (partition by cluster, driver, pool order by generation)
            as next_at
    from observed.slice_devices
    group by cluster, driver, pool, generation
),

-- A taint lasts over generations until one without it.
device_taints as (
    select
        taints.cluster,
        taints.node_uid,
        taints.gpu,
        taints.key,
        taints.value as reason,
        taints.started_at,
        arg_max(generations.next_at, taints.generation) as ended_at
    from taints
    inner join generations using (cluster, driver, pool, generation)
    where taints.node_uid is not null
    group by
        taints.cluster, taints.node_uid, taints.gpu, taints.key, taints.value, taints.started_at
),

offered as (
    select
        state.cluster,
        state.node_uid,
        state.first_seen_at,
        node.gpus,
        state.whole_allocatable as offered
    from observed.node_gpus as state
    inner join observed.nodes_kube as node using (cluster, node_uid)
    where not state.is_shared and state.whole_allocatable > 0 and state.first_seen_at is not null
),

changes as (
    select
        *,
        lag(offered) over (partition by cluster, node_uid order by first_seen_at) as offered_before
    from offered
),

spans as (
    select
        *,
        lead(first_seen_at) over (partition by cluster, node_uid order by first_seen_at) as next_at
    from changes
    where offered is distinct from offered_before
),

lost_devices as (
    select
        cluster,
        node_uid,
        unnest(range(offered, gpus)) as gpu,
        first_seen_at as started_at,
        next_at as ended_at
    from spans
    where offered < gpus
)

select
    cluster,
    node_uid,
    cast(gpu as integer) as gpu,
    key as type,
    'True' as status,
    reason,
    started_at as "from",
    ended_at as "to",
    'gpu.other' as class,
    true as blocking,
    false as degrade
from device_taints

union all

select
    cluster,
    node_uid,
    cast(gpu as integer),
    'DevicePluginUnhealthy',
    'True',
    'AllocatableBelowCapacity',
    started_at,
    ended_at,
    'gpu.lost',
    true,
    false
from lost_devices
