-- Devices that DRA drivers published, from the complete generations of their pools.
--
-- A pool counts once as many slices of one generation were seen as it says it has. A GPU and its MIG devices
-- are alternatives: they share the GPU's uuid. The index of a GPU is the number in its name.
--
-- grain: cluster, driver, pool, generation, device

with parsed as (
    select
        cluster,
        name as slice_name,
        owner_uid,
        owner_kind,
        observed_at,
        from_json(body, '{
            "metadata": {"creationTimestamp": "TIMESTAMPTZ"},
            "spec": {
                "driver": "VARCHAR",
                "nodeName": "VARCHAR",
                "pool": {"name": "VARCHAR", "generation": "BIGINT", "resourceSliceCount": "BIGINT"},
                "devices": ["JSON"]
            }
        }') as slice
    from raw.kube_objects
    where kind = 'ResourceSlice'
),

slices as (
    select
        cluster,
        slice_name,
        slice.spec.driver as driver,
        coalesce(slice.spec.pool.name, slice.spec."nodeName") as pool,
        coalesce(slice.spec.pool.generation, 0) as generation,
        coalesce(slice.spec.pool."resourceSliceCount", 1) as slice_count,
        arg_max(slice.spec.devices, coalesce(observed_at, 'epoch')) as devices,
        arg_max(slice.spec."nodeName", coalesce(observed_at, 'epoch')) as node_name,
        max(case when owner_kind = 'Node' then owner_uid end) as node_uid,
        min(slice.metadata."creationTimestamp") as created_at,
        min(observed_at) as first_seen_at,
        max(observed_at) as last_seen_at
    from parsed
    where slice.spec.driver like 'gpu.%'
    group by all
),

complete as (
    select *
    from slices
    qualify count(*) over (partition by cluster, driver, pool, generation) >= slice_count
),

devices as (
    select
        * exclude (devices),
        unnest(devices) as device
    from complete
)

select
    cluster,
    driver,
    pool,
    generation,
    device ->> '$.name' as device,
    node_uid,
    node_name,
    created_at,
    first_seen_at,
    last_seen_at,
    coalesce(
        device ->> '$.attributes.parentUUID.string',
        device ->> '$.basic.attributes.parentUUID.string',
        device ->> '$.attributes.uuid.string', device ->> '$.basic.attributes.uuid.string',
        device ->> '$.name'
    ) as gpu_uuid,
    coalesce(
        device ->> '$.attributes.productName.string',
        device ->> '$.basic.attributes.productName.string'
    ) as product,
    try_cast(regexp_extract(device ->> '$.name', '^gpu-(\d+)', 1) as integer) as gpu,
    from_json(
        coalesce(device -> '$.taints', device -> '$.basic.taints', '[]'),
        '[{"key": "VARCHAR", "value": "VARCHAR", "effect": "VARCHAR", "timeAdded": "TIMESTAMPTZ"}]'
    ) as taints
from devices
qualify row_number() over (
    partition by cluster, driver, pool, generation, device ->> '$.name'
    order by last_seen_at desc, slice_name
) = 1
