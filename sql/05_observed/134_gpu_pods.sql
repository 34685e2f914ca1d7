-- Pods that hold or want GPUs, with the job they belong to and their slot in its gang.
--
-- The job is the top owner; a pod group where there is none; else the pod itself. The slot is what a
-- replacement of the pod takes over: its index in its replica group, else its name.
--
-- grain: cluster, pod_uid

with labelled as (
    select
        pod.cluster,
        pod.pod_uid,
        label.means,
        label.priority,
        entry.value
    from
        (select cluster, pod_uid, unnest(map_entries(labels)) as entry from observed.pod_lives)
            as pod
    inner join catalog.kube_labels as label on label.object = 'pod' and entry.key = label.label
    where entry.value <> ''
),

meanings as (
    select
        cluster,
        pod_uid,
        arg_min(value, priority) filter (where means = 'index') as slot_index,
        string_agg(value, '/' order by priority) filter (where means = 'group') as slot_group,
        arg_min(value, priority) filter (where means = 'pod_group') as pod_group,
        arg_min(value, priority) filter (where means = 'role') as role,
        arg_min(value, priority) filter (where means = 'kind') as kind,
        arg_min(value, priority) filter (where means = 'team') as team,
        arg_min(value, priority) filter (where means = 'lineage') as lineage
    from labelled
    group by cluster, pod_uid
),

attempt_labels as (
    select kind, max(attempt_label) as attempt_label
    from catalog.workload_kinds
    where attempt_label is not null
    group by kind
),

-- A name is a node only while that node stands.
nodes as (
    select cluster, node_uid, name, pool, registered_at
    from observed.nodes_kube
),

placed as (
    select
        life.*,
        nodes.node_uid,
        nodes.pool
    from observed.pod_lives as life
    asof left join nodes
        on
            life.cluster = nodes.cluster
            and life.node_name = nodes.name
            and coalesce(life.bound_at, life.created_at) >= nodes.registered_at
)

select
    placed.cluster,
    placed.pod_uid,
    placed.name,
    placed.namespace,
    coalesce(owner.top_uid, placed.namespace || '/' || meanings.pod_group, placed.pod_uid) as job,
    coalesce(owner.top_name, meanings.pod_group, placed.name) as job_name,
    coalesce(owner.top_kind, 'Pod') as owner_kind,
    case
        when meanings.kind in ('training', 'serving', 'notebook', 'other') then meanings.kind
        when owner.top_uid is not null then coalesce(owner.job_kind, 'other')
        when meanings.pod_group is not null then 'training'
        else 'other'
    end as job_kind,
    meanings.team,
    meanings.lineage,
    placed.node_uid,
    placed.pool,
    placed.node_name,
    placed.node_selector,
    gpu.gpus,
    gpu.share,
    case when meanings.role = 'standby' then 'standby' else 'worker' end as role,
    try_cast(regexp_extract(meanings.slot_index, '^\d+') as integer) as slot_index,
    meanings.slot_group,
    coalesce(coalesce(meanings.slot_group, '') || '#' || meanings.slot_index, placed.name) as slot,
    case
        when attempt_labels.attempt_label = '@owner' then reference.owner_uid
        else placed.labels[attempt_labels.attempt_label]
    end as attempt_label,
    placed.created_at,
    case when placed.node_name is not null then placed.bound_at end as bound_at,
    placed.running_at,
    placed.terminated_at,
    placed.deleted_at,
    placed.missing_at,
    placed.last_seen_at,
    placed.deletion_at,
    placed.disrupted_at,
    placed.disruption,
    placed.phase,
    placed.exit_code,
    placed.end_reason,
    placed.ingested_at,
    placed.ingested_from
from placed
inner join observed.pod_gpus as gpu using (cluster, pod_uid)
left join
    observed.object_owners as owner
    on placed.cluster = owner.cluster and placed.pod_uid = owner.uid
left join meanings using (cluster, pod_uid)
left join attempt_labels on coalesce(owner.top_kind, 'Pod') = attempt_labels.kind
left join (
    select cluster, uid, max(owner_uid) as owner_uid
    from raw.kube_objects
    where kind = 'Pod'
    group by cluster, uid
) as reference on placed.cluster = reference.cluster and placed.pod_uid = reference.uid
