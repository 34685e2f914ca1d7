-- What share of a GPU each MIG profile is, by the memory of the GPU it is cut from [STANDARD 1.3].
--
-- A profile of k compute slices and m of 8 memory slices takes the larger of k/7 and m/8. Without the
-- memory of the GPU the compute slices decide.
--
-- grain: profile, gpu_gib

with profiles as (
    select distinct unnest(map_keys(capacity)) as resource from observed.node_versions
    union
    select distinct unnest(json_keys(body, '$.gpu_requests'))
    from raw.kube_objects
    where kind = 'Pod'
    union
    select distinct single_profile from observed.node_versions where single_profile <> ''
),

slices as (
    select distinct
        regexp_extract(resource, '(\d+g\.\d+gb)', 1) as profile,
        cast(regexp_extract(resource, '(\d+)g\.\d+gb', 1) as integer) as compute_slices,
        cast(regexp_extract(resource, '\d+g\.(\d+)gb', 1) as integer) as gib
    from profiles
    where regexp_matches(resource, '\d+g\.\d+gb')
),

memories as (
    select distinct gpu_gib from observed.node_versions
    union
    select null
),

sized as (
    select
        profile,
        gpu_gib,
        compute_slices,
        coalesce(cast(round(8.0 * gib / gpu_gib) as integer), 0) as memory_slices
    from slices
    cross join memories
)

select
    profile,
    gpu_gib,
    compute_slices,
    memory_slices,
    least(greatest(720 * compute_slices, 630 * memory_slices), 5040) as units,
    case
        when 720 * compute_slices >= 630 * memory_slices then compute_slices else memory_slices
    end as share_of,
    case when 720 * compute_slices >= 630 * memory_slices then 7 else 8 end as share_in
from sized
