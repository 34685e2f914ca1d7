-- Nodes as the cluster's objects show them: identity, pool, highest capacity ever, life and paid span.
--
-- A GPU that disappears stays paid, so the capacity is the most that any source ever said: the device
-- plugin, DRA slices, the instance type [STANDARD 1.1]. A node of which only its slices were dumped is
-- known by them.
--
-- grain: cluster, node_uid

with newest as (
    select
        cluster,
        node_uid,
        arg_max(name, coalesce(first_seen_at, 'epoch')) as name,
        arg_max(labels, coalesce(first_seen_at, 'epoch')) as labels,
        arg_max(provider_id, coalesce(first_seen_at, 'epoch')) as provider_id,
        min(created_at) as created_at,
        max(ingested_at) as ingested_at,
        max(ingested_from) as ingested_from
    from observed.node_versions
    group by cluster, node_uid
),

plugin_gpus as (
    select cluster, node_uid, max(gpus) as gpus
    from observed.node_gpus
    group by cluster, node_uid
),

generations as (
    select
        slice.cluster,
        coalesce(slice.node_uid, newest.node_uid) as node_uid,
        any_value(slice.node_name) as node_name,
        slice.generation,
        count(distinct slice.gpu_uuid) as gpus,
        min(slice.created_at) as created_at,
        max(slice.product) as product
    from observed.slice_devices as slice
    left join
        newest
        on
            slice.cluster = newest.cluster
            and slice.node_name = newest.name
            and slice.node_uid is null
    group by
        slice.cluster,
        coalesce(slice.node_uid, newest.node_uid),
        slice.driver,
        slice.pool,
        slice.generation
),

slice_gpus as (
    select
        cluster,
        node_uid,
        any_value(node_name) as node_name,
        max(gpus) as gpus,
        min(created_at) as created_at,
        arg_max(product, generation) as product
    from generations
    where node_uid is not null
    group by cluster, node_uid
),

labelled as (
    select
        newest.cluster,
        newest.node_uid,
        label.means,
        arg_min(entry.value, label.priority) as value
    from (select cluster, node_uid, unnest(map_entries(labels)) as entry from newest) as newest
    inner join catalog.kube_labels as label on label.object = 'node' and entry.key = label.label
    where entry.value <> ''
    group by newest.cluster, newest.node_uid, label.means
),

meanings as (
    select
        cluster,
        node_uid,
        max(value) filter (where means = 'pool') as pool,
        max(value) filter (where means = 'instance_type') as instance_type,
        max(value) filter (where means = 'gpu_model') as gpu_model,
        max(value) filter (where means = 'topology') as topology
    from labelled
    group by cluster, node_uid
),

-- Only a transition soon after creation is the first one; a later one follows an outage nobody saw.
first_ready as (
    select
        cluster,
        node_uid,
        min(condition."lastTransitionTime") as ready_at
    from
        (
            select cluster, node_uid, created_at, unnest(conditions) as condition
            from observed.node_versions
        )
    where
        condition.type = 'Ready'
        and condition.status = 'True'
        and condition."lastTransitionTime" <= created_at + interval 1 hour
    group by cluster, node_uid
),

claims as (
    select
        cluster,
        body ->> '$.status.providerID' as provider_id,
        body ->> '$.status.nodeName' as node_name,
        min(coalesce(
            list_filter(
                from_json(
                    coalesce(body -> '$.status.conditions', '[]'),
                    '[{"type": "VARCHAR", "status": "VARCHAR", "lastTransitionTime": "TIMESTAMPTZ"}]'
                ),
                lambda condition: condition.type = 'Launched' and condition.status = 'True'
            )[1]."lastTransitionTime",
            try_cast(body ->> '$.metadata.creationTimestamp' as timestamptz)
        )) as launched_at,
        max(try_cast(body ->> '$.metadata.creationTimestamp' as timestamptz)) as created_at,
        min(observed_at) filter (where is_deleted) as deleted_at
    from raw.kube_objects
    where kind = 'NodeClaim' and body ->> '$.status.providerID' is not null
    group by all
),

removals as (
    select cluster, node_uid, min(first_at) as removed_at
    from observed.event_objects
    where reason = 'RemovingNode' and node_uid is not null
    group by cluster, node_uid
),

-- Nodes that went away while they were not Ready: what is registered next in their pool replaces them.
lost as (
    select
        last_state.cluster,
        meanings.pool,
        coalesce(presence.deleted_at, presence.missing_at) as lost_at
    from (
        select
            cluster,
            node_uid,
            arg_max(
                list_filter(conditions, lambda condition: condition.type = 'Ready')[1].status,
                first_seen_at
            ) filter (where not is_deleted) as ready
        from observed.node_versions
        group by cluster, node_uid
    ) as last_state
    inner join observed.object_presence as presence
        on
            last_state.cluster = presence.cluster
            and presence.kind = 'Node'
            and last_state.node_uid = presence.uid
    inner join
        meanings
        on last_state.cluster = meanings.cluster and last_state.node_uid = meanings.node_uid
    where
        last_state.ready <> 'True'
        and coalesce(presence.deleted_at, presence.missing_at) is not null
),

identities as (
    select cluster, node_uid from newest
    union
    select cluster, node_uid from slice_gpus
),

joined as (
    select
        identity.cluster,
        identity.node_uid,
        coalesce(newest.name, slice_gpus.node_name) as name,
        coalesce(meanings.pool, 'default') as pool,
        regexp_replace(meanings.instance_type, '^ml\.', '') as instance_type,
        regexp_replace(coalesce(meanings.gpu_model, slice_gpus.product), '(-SHARED|-MIG-.*)$', '')
            as gpu_model,
        meanings.topology,
        coalesce(newest.created_at, slice_gpus.created_at) as registered_at,
        first_ready.ready_at,
        coalesce(presence.deleted_at, presence.missing_at) as gone_at,
        removals.removed_at,
        presence.last_seen_at,
        claims.launched_at,
        claims.deleted_at as claim_deleted_at,
        coalesce(plugin_gpus.gpus, 0) as plugin_gpus,
        coalesce(slice_gpus.gpus, 0) as slice_gpus,
        newest.ingested_at,
        newest.ingested_from
    from identities as identity
    left join newest using (cluster, node_uid)
    left join plugin_gpus using (cluster, node_uid)
    left join slice_gpus using (cluster, node_uid)
    left join meanings using (cluster, node_uid)
    left join first_ready using (cluster, node_uid)
    left join removals using (cluster, node_uid)
    left join claims
        on
            newest.cluster = claims.cluster
            and newest.provider_id = claims.provider_id
            and claims.node_name is not distinct from newest.name
    left join observed.object_presence as presence
        on
            identity.cluster = presence.cluster
            and presence.kind = 'Node'
            and identity.node_uid = presence.uid
)

select
    joined.cluster,
    joined.node_uid,
    joined.name,
    joined.pool,
    cast(greatest(joined.plugin_gpus, joined.slice_gpus, coalesce(expected.gpus, 0)) as integer)
        as gpus,
    joined.registered_at,
    joined.ready_at,
    -- The removal lies between the last sighting and the list that lacks the node.
    case
        when joined.removed_at > joined.last_seen_at then least(joined.removed_at, joined.gone_at)
        else joined.gone_at
    end as deleted_at,
    least(joined.launched_at, joined.registered_at) as paid_from,
    joined.claim_deleted_at as paid_to,
    case when lost.lost_at > joined.registered_at - interval 1 hour then 'host.lost' end
        as replaces_cause,
    joined.instance_type,
    joined.gpu_model,
    joined.topology,
    joined.ingested_at,
    joined.ingested_from
from joined
left join catalog.instance_types as expected on joined.instance_type = expected.instance_type
asof left join lost
    on
        joined.cluster = lost.cluster
        and joined.pool = lost.pool
        and joined.registered_at >= lost.lost_at
where joined.registered_at is not null or joined.launched_at is not null
