-- The physical GPUs behind what a node's device plugin reported, whenever that changed.
--
-- MIG devices and time-slicing replicas are brought back to the GPUs they are parts of. 0 or nothing means
-- that the plugin was silent, not that there are no GPUs.
--
-- grain: cluster, node_uid, version

with changes as (
    select
        cluster,
        node_uid,
        version,
        first_seen_at,
        capacity,
        allocatable,
        replicas,
        labelled_gpus,
        single_profile,
        gpu_gib
    from observed.node_versions
    qualify
        row(capacity, allocatable, replicas, labelled_gpus, single_profile, gpu_gib)
        is distinct from lag(
            row(capacity, allocatable, replicas, labelled_gpus, single_profile, gpu_gib)
        ) over (
            partition by cluster, node_uid order by first_seen_at nulls first, version
        )
),

resources as (
    select
        cluster,
        node_uid,
        version,
        gpu_gib,
        true as is_capacity,
        unnest(map_entries(capacity)) as entry
    from changes

    union all

    select cluster, node_uid, version, gpu_gib, false, unnest(map_entries(allocatable))
    from changes
),

counted as (
    select
        resources.cluster,
        resources.node_uid,
        resources.version,
        sum(entry.value) filter (where is_capacity and sharing = 'whole') as whole,
        sum(entry.value) filter (where is_capacity and sharing = 'replica') as replicated,
        sum(entry.value * mig.compute_slices) filter (where is_capacity and sharing = 'mig')
            as compute_slices,
        sum(entry.value * mig.memory_slices) filter (where is_capacity and sharing = 'mig')
            as memory_slices,
        sum(entry.value) filter (where not is_capacity and sharing = 'whole') as whole_allocatable
    from resources
    inner join catalog.gpu_resources as known
        on
            entry.key = known.resource
            or (known.resource like '%-' and starts_with(entry.key, known.resource))
    left join observed.mig_profiles as mig
        on
            regexp_extract(entry.key, '(\d+g\.\d+gb)', 1) = mig.profile
            and resources.gpu_gib is not distinct from mig.gpu_gib
    group by resources.cluster, resources.node_uid, resources.version
),

joined as (
    select
        node.cluster,
        node.node_uid,
        node.version,
        node.first_seen_at,
        node.replicas,
        node.labelled_gpus,
        node.single_profile,
        single.units as single_units,
        coalesce(counted.whole, 0) as whole,
        coalesce(counted.replicated, 0) as replicated,
        -- What is cut from one GPU fits into its 7 compute and its 8 memory slices.
        greatest(
            ceil(coalesce(counted.compute_slices, 0) / 7),
            ceil(coalesce(counted.memory_slices, 0) / 8)
        ) as mig_gpus,
        coalesce(counted.whole_allocatable, 0) as whole_allocatable
    from changes as node
    left join counted using (cluster, node_uid, version)
    left join observed.mig_profiles as single
        on node.single_profile = single.profile and node.gpu_gib is not distinct from single.gpu_gib
)

select
    cluster,
    node_uid,
    version,
    first_seen_at,
    whole,
    cast(whole_allocatable as bigint) as whole_allocatable,
    coalesce(single_profile, '') <> '' or replicas > 1 or mig_gpus > 0 as is_shared,
    cast(
        case
            when single_units is not null then ceil(whole / (5040 // single_units))
            when replicas > 1 and replicated > 0 then whole + ceil(replicated / replicas)
            when replicas > 1 and whole > 0 then ceil(whole / replicas)
            else greatest(whole + mig_gpus, labelled_gpus)
        end as integer
    ) as gpus
from joined
