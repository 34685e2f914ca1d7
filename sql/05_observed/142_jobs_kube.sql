-- Jobs: the top objects that own GPU pods or ask for GPUs.
--
-- The object's own end counts. Without the object, the pods of the last attempt tell; an object that was
-- deleted before it ended was cancelled.
--
-- grain: cluster, job

with last_pods as (
    select *
    from observed.gpu_pods
    inner join observed.pod_generations using (cluster, pod_uid, job)
    qualify generation = max(generation) over (partition by cluster, job)
),

last_ends as (
    select
        cluster,
        job,
        bool_and(coalesce(terminated_at, deleted_at, missing_at) is not null) as is_over,
        -- A child killed for memory leaves exit 0 and phase Succeeded behind.
        bool_and(coalesce(phase = 'Succeeded' and end_reason is distinct from 'OOMKilled', false))
            as is_succeeded,
        bool_or(coalesce(phase = 'Failed' or end_reason = 'OOMKilled', false)) as is_failed,
        max(coalesce(least(terminated_at, deleted_at), last_seen_at)) as ended_at
    from last_pods
    group by cluster, job
),

from_pods as (
    select
        cluster,
        job,
        min(job_name) as name,
        min(namespace) as namespace,
        min(owner_kind) as owner_kind,
        max(job_kind) as kind,
        max(team) as team,
        max(lineage) as lineage,
        min(created_at) as created_at,
        bool_or(
            bound_at is null and terminated_at is null and deleted_at is null and missing_at is null
        ) as is_waiting,
        max(ingested_at) as ingested_at,
        max(ingested_from) as ingested_from
    from observed.gpu_pods
    group by cluster, job
),

objects as (
    select *
    from observed.workload_objects
    where is_top
),

object_meanings as (
    select
        object.cluster,
        object.job,
        arg_min(entry.value, label.priority) filter (where label.means = 'team') as team,
        arg_min(entry.value, label.priority) filter (where label.means = 'kind') as kind,
        arg_min(entry.value, label.priority) filter (where label.means = 'lineage') as lineage
    from (select cluster, job, unnest(map_entries(labels)) as entry from objects) as object
    inner join catalog.kube_labels as label on label.object = 'pod' and entry.key = label.label
    group by object.cluster, object.job
),

joined as (
    select
        coalesce(pods.cluster, object.cluster) as cluster,
        coalesce(pods.job, object.job) as job,
        coalesce(object.name, pods.name) as name,
        coalesce(object.namespace, pods.namespace) as namespace,
        coalesce(object.kind, pods.owner_kind) as owner_kind,
        coalesce(pods.kind, object.job_kind, 'other') as pod_kind,
        coalesce(object.created_at, pods.created_at) as submitted_at,
        pods.team as pod_team,
        pods.lineage as pod_lineage,
        object.job is not null as has_object,
        object.state as object_state,
        case
            when object.state = 'cancelled' then least(object.ended_at, object.deletion_at)
            else object.ended_at
        end as object_ended_at,
        object.deletion_at as object_deletion_at,
        coalesce(object.deleted_at, object.missing_at) as object_gone_at,
        coalesce(pods.is_waiting, false) as is_waiting,
        greatest(pods.ingested_at, object.ingested_at) as ingested_at,
        coalesce(object.ingested_from, pods.ingested_from) as ingested_from
    from from_pods as pods
    full join objects as object using (cluster, job)
    where pods.job is not null or object.is_ml_only or object.gpu_pods > 0
),

decided as (
    select
        joined.*,
        case
            when object_state is not null then object_state
            when has_object and object_gone_at is not null and last_ends.is_succeeded
                then 'succeeded'
            when has_object and object_gone_at is not null then 'cancelled'
            when has_object or is_waiting or not coalesce(last_ends.is_over, false) then 'running'
            when last_ends.is_succeeded then 'succeeded'
            when last_ends.is_failed then 'failed'
            else 'cancelled'
        end as state,
        last_ends.ended_at as pods_ended_at
    from joined
    left join last_ends using (cluster, job)
)

select
    decided.cluster,
    decided.job,
    case
        when meaning.kind in ('training', 'serving', 'notebook', 'other') then meaning.kind
        else decided.pod_kind
    end as kind,
    decided.state,
    case
        when decided.state = 'running' then null
        else
            coalesce(
                decided.object_ended_at,
                case when decided.state = 'cancelled' then decided.object_deletion_at end,
                least(decided.object_gone_at, decided.pods_ended_at),
                decided.object_gone_at,
                decided.pods_ended_at
            )
    end as ended_at,
    coalesce(meaning.lineage, decided.pod_lineage) as lineage,
    decided.name,
    decided.namespace,
    coalesce(meaning.team, decided.pod_team) as team,
    decided.submitted_at,
    decided.owner_kind,
    decided.ingested_at,
    decided.ingested_from
from decided
left join object_meanings as meaning using (cluster, job)
