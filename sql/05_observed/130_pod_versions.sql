-- Each distinct state in which a Pod object was seen, in columns.
--
-- grain: cluster, pod_uid, version

with seen as (
    select
        cluster,
        uid as pod_uid,
        namespace,
        name,
        owner_kind,
        md5(body) as version,
        any_value(body) as body,
        bool_or(is_deleted) as is_deleted,
        min(observed_at) as first_seen_at,
        max(ingested_at) as ingested_at,
        max(ingested_from) as ingested_from
    from raw.kube_objects
    where kind = 'Pod' and api_version = 'v1'
    group by cluster, uid, namespace, name, owner_kind, md5(body)
),

parsed as (
    select
        *,
        from_json(body, '{
            "metadata": {
                "creationTimestamp": "TIMESTAMPTZ",
                "deletionTimestamp": "TIMESTAMPTZ",
                "labels": "MAP(VARCHAR, VARCHAR)",
                "annotations": "MAP(VARCHAR, VARCHAR)"
            },
            "spec": {
                "nodeName": "VARCHAR",
                "nodeSelector": "MAP(VARCHAR, VARCHAR)",
                "containers": [{"name": "VARCHAR"}]
            },
            "status": {
                "phase": "VARCHAR",
                "reason": "VARCHAR",
                "startTime": "TIMESTAMPTZ",
                "conditions": [{
                    "type": "VARCHAR",
                    "status": "VARCHAR",
                    "reason": "VARCHAR",
                    "lastTransitionTime": "TIMESTAMPTZ"
                }],
                "containerStatuses": [{
                    "name": "VARCHAR",
                    "restartCount": "INTEGER",
                    "state": {
                        "running": {"startedAt": "TIMESTAMPTZ"},
                        "waiting": {"reason": "VARCHAR"},
                        "terminated": {
                            "exitCode": "INTEGER",
                            "reason": "VARCHAR",
                            "startedAt": "TIMESTAMPTZ",
                            "finishedAt": "TIMESTAMPTZ"
                        }
                    },
                    "lastState": {
                        "terminated": {
                            "exitCode": "INTEGER",
                            "reason": "VARCHAR",
                            "startedAt": "TIMESTAMPTZ",
                            "finishedAt": "TIMESTAMPTZ"
                        }
                    }
                }],
                "initContainerStatuses": [{"state": {"waiting": {"reason": "VARCHAR"}}}],
                "resourceClaimStatuses": [{"resourceClaimName": "VARCHAR"}],
                "extendedResourceClaimStatus": {"resourceClaimName": "VARCHAR"}
            },
            "gpu_requests": "MAP(VARCHAR, INTEGER)"
        }') as pod
    from seen
)

select
    * exclude (pod, body),
    pod.metadata."creationTimestamp" as created_at,
    pod.metadata."deletionTimestamp" as deletion_at,
    map_concat(coalesce(pod.metadata.annotations, map()), coalesce(pod.metadata.labels, map()))
        as labels,
    pod.spec."nodeName" as node_name,
    coalesce(pod.spec."nodeSelector", map()) as node_selector,
    coalesce(len(pod.spec.containers), 0) as container_count,
    pod.status.phase as phase,
    pod.status.reason as status_reason,
    pod.status."startTime" as kubelet_start_at,
    coalesce(pod.status.conditions, []) as conditions,
    coalesce(pod.status."containerStatuses", []) as containers,
    list_concat(
        coalesce(
            list_transform(pod.status."containerStatuses", lambda c: c.state.waiting.reason), []
        ),
        coalesce(
            list_transform(pod.status."initContainerStatuses", lambda c: c.state.waiting.reason), []
        )
    ) as waiting_reasons,
    list_filter(
        list_append(
            coalesce(
                list_transform(pod.status."resourceClaimStatuses", lambda c: c."resourceClaimName"),
                []
            ),
            pod.status."extendedResourceClaimStatus"."resourceClaimName"
        ),
        lambda claim: claim is not null
    ) as claims,
    pod.status."extendedResourceClaimStatus"."resourceClaimName" as extended_claim,
    coalesce(pod.gpu_requests, map()) as gpu_requests
from parsed
