-- The GPUs each pod holds: a count, and the share of each where it holds parts of GPUs.
--
-- Several parts are one share of as few GPUs as could hold them. DRA claims count the devices they were
-- allocated, split between the pods that reserved them; devices for administrators are not held.
--
-- grain: cluster, pod_uid

with requests as (
    select cluster, pod_uid, node_name, created_at, unnest(map_entries(gpu_requests)) as entry
    from observed.pod_lives
),

node_sharing as (
    select
        cluster,
        name as node_name,
        max(gpu_gib) as gpu_gib,
        max(replicas) as replicas,
        max(single_profile) as single_profile
    from observed.node_versions
    group by cluster, name
),

parts as (
    select
        request.cluster,
        request.pod_uid,
        known.sharing,
        request.entry.value as amount,
        case
            when known.sharing = 'mig' or node.single_profile <> '' then coalesce(mig.share_of, 1)
            else 1
        end as share_of,
        case
            when known.sharing = 'mig' or node.single_profile <> '' then coalesce(mig.share_in, 1)
            when node.replicas > 1 then node.replicas
            else 1
        end as share_in
    from requests as request
    inner join catalog.gpu_resources as known
        on
            request.entry.key = known.resource
            or (known.resource like '%-' and starts_with(request.entry.key, known.resource))
    left join node_sharing as node using (cluster, node_name)
    left join observed.mig_profiles as mig
        on mig.profile = case
            when known.sharing = 'mig' then regexp_extract(request.entry.key, '(\d+g\.\d+gb)', 1)
            else node.single_profile
        end
        and mig.gpu_gib is not distinct from node.gpu_gib
),

fractions as (
    select
        cluster,
        pod_uid,
        1 as amount,
        cast(round(100 * try_cast(labels[fraction.label] as double)) as integer) as hundredths
    from observed.pod_lives
    cross join
        (select label from catalog.kube_labels where object = 'pod' and means = 'fraction')
            as fraction
    where
        try_cast(labels[fraction.label] as double) between 0.01 and 0.99
        and cardinality(gpu_requests) = 0
),

claims as (
    select
        cluster,
        namespace,
        name,
        arg_max(
            from_json(body, '{"status": {"allocation": {"devices": {"results": [
                {"driver": "VARCHAR", "pool": "VARCHAR", "device": "VARCHAR", "adminAccess": "BOOLEAN"}
            ]}}, "reservedFor": [{"uid": "VARCHAR"}]}}'),
            coalesce(observed_at, 'epoch')
        ) as claim
    from raw.kube_objects
    where kind = 'ResourceClaim' and body ->> '$.status.allocation' is not null
    group by cluster, namespace, name
),

-- A claim that the scheduler made to meet a plain request gives what was asked for already.
claim_uses as (
    select
        cluster,
        pod_uid,
        namespace,
        unnest(list_filter(
            claims,
            lambda claim: claim is distinct from extended_claim or cardinality(gpu_requests) = 0
        )) as name
    from observed.pod_lives
),

claim_parts as (
    select
        claim_uses.cluster,
        claim_uses.pod_uid,
        'whole' as sharing,
        len(list_filter(
            claims.claim.status.allocation.devices.results,
            lambda result: result.driver like 'gpu.%' and not coalesce(result."adminAccess", false)
        )) as amount,
        1 as share_of,
        greatest(coalesce(len(claims.claim.status."reservedFor"), 1), 1) as share_in
    from claim_uses
    inner join claims using (cluster, namespace, name)
),

held as (
    select * from parts

    union all

    select
        cluster,
        pod_uid,
        'fraction',
        amount,
        hundredths // gcd(hundredths, 100),
        100 // gcd(hundredths, 100)
    from fractions

    union all

    select * from claim_parts
),

summed as (
    select
        cluster,
        pod_uid,
        sum(amount) as amount,
        sum(amount * share_of) as share_of,
        -- One denominator: parts of several kinds in one pod are brought to units of a GPU.
        max(share_in) as share_in,
        count(distinct share_in) as denominators,
        sum(amount * share_of * 5040 // share_in) as units
    from held
    where amount > 0
    group by cluster, pod_uid
)

select
    cluster,
    pod_uid,
    cast(ceil(units / 5040) as integer) as gpus,
    case
        when units % 5040 = 0 then null
        when denominators = 1 and units < 5040 then share_of || '/' || share_in
        when units < 5040 then units || '/5040'
        -- More than one GPU in parts: the same share of each.
        else cast(units // cast(ceil(units / 5040) as integer) as integer) || '/5040'
    end as share
from summed
