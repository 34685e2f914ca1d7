-- PCI addresses of GPUs, as DRA drivers published them, in the form in which the kernel writes
-- them.
--
-- Domain in four digits, bus and device; the function is left out, since kernel lines often lack
-- it.
--
-- grain: cluster, node_name, pci

with

devices as (
    select
        cluster,
        body ->> '$.spec.nodeName' as node_name,
        unnest(from_json(body -> '$.spec.devices', '["JSON"]')) as device
    from raw.kube_objects
    where kind = 'ResourceSlice'
),

published as (
    select
        cluster,
        node_name,
        try_cast(regexp_extract(device ->> '$.name', '^gpu-(\d+)$', 1) as integer) as gpu,
        lower(coalesce(
            device ->> '$.attributes."resource.kubernetes.io/pciBusID".string',
            device ->> '$.basic.attributes."resource.kubernetes.io/pciBusID".string',
            device ->> '$.attributes.pcieBusID.string',
            device ->> '$.basic.attributes.pcieBusID.string'
        )) as address
    from devices
)

select
    cluster,
    node_name,
    right(split_part(address, '.', 1), 10) as pci,
    max(gpu) as gpu
from published
where gpu is not null and address is not null and node_name is not null
group by cluster, node_name, right(split_part(address, '.', 1), 10)
