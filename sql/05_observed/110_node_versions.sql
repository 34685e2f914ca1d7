-- Each distinct state in which a Node object was seen, in columns.
--
-- grain: cluster, node_uid, version

with seen as (
    select
        cluster,
        uid as node_uid,
        name,
        md5(body) as version,
        any_value(body) as body,
        bool_or(is_deleted) as is_deleted,
        min(observed_at) as first_seen_at,
        max(observed_at) as last_seen_at,
        max(ingested_at) as ingested_at,
        any_value(ingested_from) as ingested_from,
        max(try_cast(resource_version as bigint)) as resource_version
    from raw.kube_objects
    where kind = 'Node' and api_version = 'v1'
    group by cluster, uid, name, md5(body)
),

parsed as (
    select
        *,
        from_json(body, '{
            "metadata": {
                "creationTimestamp": "TIMESTAMPTZ",
                "deletionTimestamp": "TIMESTAMPTZ",
                "labels": "MAP(VARCHAR, VARCHAR)"
            },
            "spec": {
                "providerID": "VARCHAR",
                "unschedulable": "BOOLEAN",
                "taints": [{"key": "VARCHAR", "value": "VARCHAR", "effect": "VARCHAR", "timeAdded": "TIMESTAMPTZ"}]
            },
            "status": {
                "capacity": "MAP(VARCHAR, BIGINT)",
                "allocatable": "MAP(VARCHAR, BIGINT)",
                "nodeInfo": {"bootID": "VARCHAR"},
                "conditions": [{
                    "type": "VARCHAR",
                    "status": "VARCHAR",
                    "reason": "VARCHAR",
                    "lastTransitionTime": "TIMESTAMPTZ",
                    "lastHeartbeatTime": "TIMESTAMPTZ"
                }]
            }
        }') as node
    from seen
),

labelled as (
    select
        * exclude (node, body),
        node.metadata."creationTimestamp" as created_at,
        node.metadata."deletionTimestamp" as deletion_at,
        coalesce(node.metadata.labels, map()) as labels,
        node.spec."providerID" as provider_id,
        coalesce(node.spec.unschedulable, false) as is_unschedulable,
        coalesce(node.spec.taints, []) as taints,
        coalesce(node.status.capacity, map()) as capacity,
        coalesce(node.status.allocatable, map()) as allocatable,
        node.status."nodeInfo"."bootID" as boot_id,
        coalesce(node.status.conditions, []) as conditions
    from parsed
),

devices as (
    select
        *,
        greatest(coalesce(try_cast(labels['nvidia.com/gpu.replicas'] as integer), 1), 1)
            as replicas,
        case
            -- A label is free text: a slip must not become as many devices.
            when try_cast(labels['nvidia.com/gpu.count'] as integer) between 0 and 16384
                then try_cast(labels['nvidia.com/gpu.count'] as integer)
            else 0
        end as labelled_gpus,
        regexp_extract(labels['nvidia.com/gpu.product'], 'MIG-(\d+g\.\d+gb)', 1) as single_profile,
        coalesce(
            try_cast(
                nullif(
                    regexp_extract(labels['nvidia.com/gpu.product'], '(\d+)GB', 1), ''
                ) as integer
            ),
            case
                when labels['nvidia.com/gpu.product'] not like '%-MIG-%'
                    then round(try_cast(labels['nvidia.com/gpu.memory'] as integer) / 1024.0)
            end
        ) as gpu_gib
    from labelled
)

select * from devices
