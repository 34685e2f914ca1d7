-- Workload objects in their newest state: what they ask for, whether they wait, how and when they ended.
--
-- How each kind says that it is over is data: catalog/workload_ends.csv. An end once declared stays.
--
-- grain: cluster, uid

with versions as (
    select
        object.cluster,
        object.uid,
        object.kind,
        kinds.api_group,
        object.namespace,
        object.name,
        object.body,
        object.ingested_at,
        object.ingested_from,
        coalesce(object.observed_at, 'epoch') as observed_at,
        kinds.job_kind,
        kinds.ml_only = 1 as is_ml_only,
        try_cast(json_extract_string(object.body, kinds.end_path) as timestamptz) as end_field_at,
        json_extract_string(object.body, kinds.phase_path) as phase,
        try_cast(json_extract_string(object.body, kinds.phase_at_path) as timestamptz) as phase_at
    from raw.kube_objects as object
    inner join catalog.workload_kinds as kinds
        on
            object.kind = kinds.kind
            and kinds.role = 'workload'
            and regexp_extract(object.api_version, '^(.*)/', 1) = coalesce(kinds.api_group, '')
    where object.uid is not null
),

newest as (
    select
        cluster,
        uid,
        kind,
        api_group,
        arg_max(versions, observed_at) as version,
        max(end_field_at) as end_field_at,
        min(try_cast(body ->> '$.metadata.deletionTimestamp' as timestamptz)) as deletion_at,
        max(ingested_at) as ingested_at,
        max(ingested_from) as ingested_from
    from versions
    group by cluster, uid, kind, api_group
),

condition_rows as (
    select distinct
        cluster,
        uid,
        kind,
        api_group,
        unnest(from_json(
            coalesce(body -> '$.status.conditions', '[]'),
            '[{"type": "VARCHAR", "status": "VARCHAR", "reason": "VARCHAR", "lastTransitionTime": "TIMESTAMPTZ"}]'
        )) as condition
    from versions
),

condition_ends as (
    select
        condition_rows.cluster,
        condition_rows.uid,
        arg_min(ends.state, condition."lastTransitionTime") as state,
        arg_min(condition.reason, condition."lastTransitionTime") as reason,
        min(condition."lastTransitionTime") as ended_at
    from condition_rows
    inner join catalog.workload_ends as ends
        on
            condition_rows.kind = ends.kind
            and condition_rows.api_group is not distinct from ends.api_group
            and ends.source = 'condition'
            and condition.type = ends.value
    where condition.status = 'True'
    group by condition_rows.cluster, condition_rows.uid
),

suspensions as (
    select cluster, uid, max(condition."lastTransitionTime") as suspended_at
    from condition_rows
    where condition.type = 'Suspended' and condition.status = 'True'
    group by cluster, uid
),

pod_sets as (
    select
        cluster,
        uid,
        sum(pod_set.count) as gpu_pods,
        max(list_sum(map_values(pod_set.gpu_requests))) as gpus_per_pod,
        sum(pod_set.count) = max(all_pods) as is_all_gpu
    from (
        select
            cluster,
            uid,
            unnest(sets) as pod_set,
            list_sum(list_transform(sets, lambda s: s.count)) as all_pods
        from (
            select
                cluster,
                uid,
                from_json(
                    coalesce(version.body -> '$.pod_sets', '[]'),
                    '[{"count": "INTEGER", "gpu_requests": "MAP(VARCHAR, INTEGER)"}]'
                ) as sets
            from newest
        )
    )
    where cardinality(pod_set.gpu_requests) > 0
    group by cluster, uid
),

-- Children carry the restart counter of the kind that made them.
attempt_labels as (
    select kind, max(attempt_label) as attempt_label
    from catalog.workload_kinds
    where attempt_label is not null
    group by kind
)

select
    newest.cluster,
    newest.uid,
    newest.kind,
    newest.api_group,
    newest.deletion_at,
    newest.version.namespace as namespace,
    newest.version.name as name,
    newest.version.job_kind as job_kind,
    newest.version.is_ml_only as is_ml_only,
    coalesce(owner.top_uid, newest.uid) as job,
    owner.top_uid is null as is_top,
    from_json(
        coalesce(newest.version.body -> '$.metadata.labels', '{}'), '"MAP(VARCHAR, VARCHAR)"'
    ) as labels,
    newest.version.body -> '$.metadata.labels' ->> attempt_labels.attempt_label as attempt_label,
    try_cast(newest.version.body ->> '$.metadata.creationTimestamp' as timestamptz) as created_at,
    coalesce(
        try_cast(newest.version.body ->> '$.spec.suspend' as boolean),
        try_cast(newest.version.body ->> '$.spec.runPolicy.suspend' as boolean),
        false
    ) as is_suspended,
    suspensions.suspended_at,
    -- What a controller calls a failure of an object that is being deleted is the deletion.
    case
        when
            condition_ends.state = 'failed'
            and condition_ends.ended_at >= newest.deletion_at
            then 'cancelled'
        else coalesce(condition_ends.state, phase_end.state)
    end as state,
    condition_ends.reason as end_reason,
    case
        when condition_ends.state is not null
            then coalesce(newest.end_field_at, condition_ends.ended_at)
        when phase_end.state is not null
            then
                coalesce(
                    newest.version.phase_at,
                    newest.end_field_at,
                    nullif(newest.version.observed_at, 'epoch')
                )
    end as ended_at,
    coalesce(pod_sets.gpu_pods, 0) as gpu_pods,
    pod_sets.gpus_per_pod,
    coalesce(
        try_cast(newest.version.body ->> '$.spec.elasticPolicy.minReplicas' as integer),
        case
            when
                pod_sets.is_all_gpu
                then try_cast(newest.version.body ->> '$.spec.minAvailable' as integer)
        end,
        pod_sets.gpu_pods,
        try_cast(newest.version.body ->> '$.spec.trainer.numNodes' as integer)
    ) as min_members,
    presence.deleted_at,
    presence.missing_at,
    newest.ingested_at,
    newest.ingested_from
from newest
left join condition_ends using (cluster, uid)
left join suspensions using (cluster, uid)
left join pod_sets using (cluster, uid)
left join catalog.workload_ends as phase_end
    on
        newest.kind = phase_end.kind
        and newest.api_group is not distinct from phase_end.api_group
        and phase_end.source = 'phase'
        and newest.version.phase = phase_end.value
left join observed.object_owners as owner using (cluster, uid)
left join attempt_labels on coalesce(owner.top_kind, newest.kind) = attempt_labels.kind
left join observed.object_presence as presence
    on
        newest.cluster = presence.cluster
        and newest.kind = presence.kind
        and newest.uid = presence.uid
