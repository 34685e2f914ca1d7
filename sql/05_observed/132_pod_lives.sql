-- One row a pod: where it ran, what it asked for, when it was bound, ran and ended, and how.
--
-- Pods without GPUs are here too; pods_kube leaves them out. The end of a pod that was deleted while it ran
-- is its deletion; one that merely is missing later is `missing_at` [STANDARD 0.3 c].
--
-- grain: cluster, pod_uid

with newest as (
    select
        cluster,
        pod_uid,
        namespace,
        name,
        arg_max(labels, coalesce(first_seen_at, 'epoch')) as labels,
        arg_max(owner_kind, coalesce(first_seen_at, 'epoch')) as owner_kind,
        max(node_name) as node_name,
        arg_max(node_selector, coalesce(first_seen_at, 'epoch')) as node_selector,
        max(container_count) as container_count,
        arg_max(phase, coalesce(first_seen_at, 'epoch')) filter (where phase is not null) as phase,
        max(status_reason) as status_reason,
        arg_max(gpu_requests, coalesce(first_seen_at, 'epoch')) as gpu_requests,
        arg_max(claims, len(claims)) as claims,
        max(extended_claim) as extended_claim,
        min(created_at) as created_at,
        min(deletion_at) as deletion_at,
        min(kubelet_start_at) as kubelet_start_at,
        min(first_seen_at) filter (where phase in ('Succeeded', 'Failed')) as seen_terminal_at,
        max(ingested_at) as ingested_at,
        max(ingested_from) as ingested_from
    from observed.pod_versions
    group by cluster, pod_uid, namespace, name
),

conditions as (
    select
        cluster,
        pod_uid,
        min(condition."lastTransitionTime") filter (
            where condition.type = 'PodScheduled' and condition.status = 'True'
        ) as scheduled_at,
        arg_min(condition.reason, condition."lastTransitionTime") filter (
            where condition.type = 'DisruptionTarget' and condition.status = 'True'
        ) as disruption,
        min(condition."lastTransitionTime") filter (
            where condition.type = 'DisruptionTarget' and condition.status = 'True'
        ) as disrupted_at,
        max(condition."lastTransitionTime") filter (
            where condition.type = 'Ready' and condition.status = 'False'
        ) as unready_at
    from (select cluster, pod_uid, unnest(conditions) as condition from observed.pod_versions)
    group by cluster, pod_uid
),

first_runs as (
    select cluster, pod_uid, container, min(started_at) as started_at
    from observed.container_runs
    where started_at is not null
    group by cluster, pod_uid, container
),

starts as (
    select cluster, pod_uid, count(*) as started_count, max(started_at) as started_at
    from first_runs
    group by cluster, pod_uid
),

last_runs as (
    select *
    from observed.container_runs
    qualify row_number() over (partition by cluster, pod_uid, container order by run desc) = 1
),

ends as (
    select
        cluster,
        pod_uid,
        max(finished_at) as finished_at,
        arg_min(exit_code, finished_at) filter (where exit_code <> 0 or reason = 'OOMKilled')
            as bad_exit_code,
        arg_min(reason, finished_at) filter (where exit_code <> 0 or reason = 'OOMKilled')
            as bad_reason,
        -- A status whose times are zero still tells the exit.
        max(exit_code) filter (where exit_code <> 0) as timeless_exit_code,
        max(reason) filter (where exit_code <> 0) as timeless_reason,
        min(exit_code) as exit_code,
        min(reason) as reason
    from last_runs
    where exit_code is not null
    group by cluster, pod_uid
),

scheduled_events as (
    select cluster, pod_uid, min(first_at) as scheduled_at
    from observed.event_objects
    where reason = 'Scheduled' and pod_uid is not null
    group by cluster, pod_uid
),

node_lives as (
    select cluster, node_uid, name, registered_at, deleted_at
    from observed.nodes_kube
),

deleted_pods as (
    select newest.cluster, newest.pod_uid, newest.node_name, newest.deletion_at, presence.deleted_at
    from newest
    inner join observed.object_presence as presence
        on
            newest.cluster = presence.cluster
            and presence.kind = 'Pod'
            and newest.pod_uid = presence.uid
    where presence.deleted_at <= newest.deletion_at and newest.phase not in ('Succeeded', 'Failed')
),

placed_deletions as (
    select deleted_pods.*, node_lives.node_uid, node_lives.deleted_at as node_deleted_at
    from deleted_pods
    asof left join node_lives
        on
            deleted_pods.cluster = node_lives.cluster
            and deleted_pods.node_name = node_lives.name
            and deleted_pods.deletion_at >= node_lives.registered_at
),

-- Nobody confirms the end of a pod whose node is lost: it stays until the node is back or gone. Where
-- the dump proves no later time than the announced one, that is when it went.
stuck as (
    select
        placed.cluster,
        placed.pod_uid,
        least(
            placed.node_deleted_at,
            min(turn.t) filter (where turn.status = 'True' and turn.t > placed.deletion_at)
        ) as freed_at
    from placed_deletions as placed
    inner join observed.node_condition_events_kube as turn using (cluster, node_uid)
    where turn.type = 'Ready'
    group by placed.cluster, placed.pod_uid, placed.node_deleted_at
    having coalesce(
        arg_max(turn.status, turn.t) filter (where turn.t <= placed.deletion_at), 'True'
    ) <> 'True'
),

joined as (
    select
        newest.*,
        coalesce(
            conditions.scheduled_at,
            scheduled_events.scheduled_at,
            newest.kubelet_start_at,
            newest.created_at
        ) as scheduled_at,
        conditions.disruption,
        conditions.disrupted_at,
        conditions.unready_at,
        case when starts.started_count >= newest.container_count then starts.started_at end
            as running_at,
        ends.finished_at,
        coalesce(ends.bad_exit_code, ends.timeless_exit_code, ends.exit_code) as exit_code,
        coalesce(ends.bad_reason, ends.timeless_reason, ends.reason) as container_reason,
        presence.last_seen_at,
        coalesce(stuck.freed_at, presence.deleted_at) as deleted_at,
        presence.missing_at
    from newest
    left join conditions using (cluster, pod_uid)
    left join starts using (cluster, pod_uid)
    left join ends using (cluster, pod_uid)
    left join scheduled_events using (cluster, pod_uid)
    left join stuck using (cluster, pod_uid)
    left join observed.object_presence as presence
        on
            newest.cluster = presence.cluster
            and presence.kind = 'Pod'
            and newest.pod_uid = presence.uid
)

select
    * exclude (scheduled_at, finished_at, unready_at, container_reason, status_reason),
    case when node_name is not null then scheduled_at end as bound_at,
    case
        when phase in ('Succeeded', 'Failed')
            then greatest(
                coalesce(finished_at, unready_at, disrupted_at, seen_terminal_at),
                case when node_name is not null then scheduled_at end
            )
    end as terminated_at,
    status_reason,
    -- "Error" says only that the exit was not 0; the pod's own reason is the better one.
    case
        when is_node_shutdown(status_reason) then status_reason
        when phase in ('Succeeded', 'Failed') or deleted_at is not null
            then coalesce(nullif(container_reason, 'Error'), status_reason, container_reason)
    end as end_reason
from joined
