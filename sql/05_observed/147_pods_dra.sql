-- GPUs that a DRA claim holds while no pod of it is bound: rows of pods with the role `reserved`.
--
-- A claim holds its devices from its allocation until it is seen without one, or is gone. While pods
-- of it are bound, they hold them; the rest is reserved, a row for each span and node [STANDARD 1.3].
--
-- grain: cluster, pod_uid

with versions as (
    select
        cluster,
        uid,
        namespace,
        name,
        observed_at,
        from_json(body, '{"status": {"allocation": {
            "allocationTimestamp": "TIMESTAMPTZ",
            "devices": {"results": [
                {"driver": "VARCHAR", "pool": "VARCHAR", "device": "VARCHAR", "adminAccess": "BOOLEAN"}
            ]}
        }}}').status.allocation as allocation,
        ingested_at,
        ingested_from
    from raw.kube_objects
    where kind = 'ResourceClaim' and uid is not null and not is_deleted
),

changes as (
    select *
    from versions
    qualify
        allocation is distinct from lag(allocation) over (
            partition by cluster, uid order by observed_at, ingested_at
        )
),

allocations as (
    select
        change.* exclude (observed_at),
        coalesce(change.allocation."allocationTimestamp", change.observed_at) as started_at,
        coalesce(
            least(
                lead(change.observed_at) over (
                    partition by change.cluster, change.uid order by change.observed_at
                ),
                presence.deleted_at,
                presence.missing_at
            ),
            'infinity'
        ) as ended_at
    from changes as change
    left join observed.object_presence as presence
        on
            change.cluster = presence.cluster
            and presence.kind = 'ResourceClaim'
            and change.uid = presence.uid
),

uses as (
    select
        life.cluster,
        life.namespace,
        life.name,
        pod.bound_at,
        coalesce(least(pod.terminated_at, pod.deleted_at, pod.missing_at), 'infinity') as ended_at
    from (select cluster, pod_uid, namespace, unnest(claims) as name from observed.pod_lives) as life
    inner join observed.gpu_pods as pod using (cluster, pod_uid)
    where pod.bound_at is not null
),

-- The spans in which somebody held the devices, the first one of no length at the allocation.
taken as (
    select cluster, uid, started_at, ended_at, started_at as taken_from, started_at as taken_to
    from allocations
    where allocation is not null

    union all

    select claim.cluster, claim.uid, claim.started_at, claim.ended_at, use.bound_at, use.ended_at
    from allocations as claim
    inner join uses as use using (cluster, namespace, name)
    where
        claim.allocation is not null
        and use.bound_at < claim.ended_at
        and use.ended_at > claim.started_at
),

free as (
    select
        cluster,
        uid,
        started_at,
        max(taken_to) over so_far as free_from,
        least(lead(taken_from) over so_far, ended_at) as free_to
    from taken
    window so_far as (
        partition by cluster, uid, started_at
        order by taken_from, taken_to
        rows between unbounded preceding and current row
    )
),

devices as (
    select
        * exclude (allocation),
        unnest(list_filter(
            allocation.devices.results,
            lambda result: result.driver like 'gpu.%' and not coalesce(result."adminAccess", false)
        )) as device
    from allocations
),

slice_nodes as (
    select cluster, driver, pool, any_value(node_name) as node_name
    from observed.slice_devices
    group by cluster, driver, pool
),

held as (
    select
        device.cluster,
        device.uid,
        device.namespace,
        device.name,
        device.started_at,
        coalesce(slice.node_name, device.device.pool) as node_name,
        count(distinct device.device.device) as gpus,
        max(device.ingested_at) as ingested_at,
        max(device.ingested_from) as ingested_from
    from devices as device
    left join slice_nodes as slice
        on
            device.cluster = slice.cluster
            and device.device.driver = slice.driver
            and device.device.pool = slice.pool
    group by
        device.cluster,
        device.uid,
        device.namespace,
        device.name,
        device.started_at,
        coalesce(slice.node_name, device.device.pool)
),

nodes as (
    select cluster, node_uid, name, registered_at
    from observed.nodes_kube
)

select
    held.cluster,
    concat_ws('#', held.uid, nodes.node_uid, ms_of(free.free_from)) as pod_uid,
    held.name,
    held.namespace,
    nodes.node_uid,
    cast(held.gpus as integer) as gpus,
    'reserved' as role,
    free.free_from as bound_at,
    nullif(free.free_to, 'infinity') as released_at,
    held.ingested_at,
    held.ingested_from
from held
inner join free using (cluster, uid, started_at)
asof inner join nodes
    on
        held.cluster = nodes.cluster
        and held.node_name = nodes.name
        and free.free_from >= nodes.registered_at
where free.free_to > free.free_from
