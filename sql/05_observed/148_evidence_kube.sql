-- What Kubernetes said about why things ended: events, taints, waiting reasons, conditions of workloads.
--
-- `source` is the scope of catalog/k8s_reasons.csv that explains the value. Reasons the catalogue does not
-- know explain nothing and stay in the raw tables; exits and disruptions are read from pods. An XID in
-- an event's message is evidence of its own.
--
-- grain: row

with known_reasons as (
    select
        scope,
        '^'
        || replace(regexp_replace(reason, '([.*+?()\[\]])', '\\\1', 'g'), '%d', '\d+')
        || '$' as pattern
    from catalog.k8s_reasons
    where reason <> '*' and not (domain = 'baseline' and strength = 0)
),

event_reasons as (
    select distinct event.reason
    from (select distinct reason from observed.event_objects where reason is not null) as event
    inner join known_reasons
        on
            known_reasons.scope = 'event'
            and regexp_matches(event.reason, replace(known_reasons.pattern, '%s', '.+'))
),

events as (
    select
        event.*,
        unnest(list_distinct([event.first_at, event.last_at])) as t
    from observed.event_objects as event
    where event.object_kind in ('Node', 'Pod') or event.object_kind is null
),

-- What a condition says already is not said again: the controller's event comes up to a minute after a flip
-- that is dated back to the last heartbeat.
told_by_conditions as (
    select distinct event.cluster, event.uid
    from observed.event_objects as event
    inner join observed.node_condition_events_kube as turn
        on
            event.cluster = turn.cluster
            and event.node_uid = turn.node_uid
            and turn.type = 'Ready'
            and turn.status <> 'True'
            and turn.t between event.first_at
            - interval 10 minutes and event.last_at
            + interval 1 minute
    where event.reason = 'NodeNotReady'
),

event_facts as (
    select
        cluster,
        t,
        'event' as source,
        reason as value,
        node_uid,
        pod_uid,
        null as job,
        null as type,
        'event ' || coalesce(namespace || '/', '') || name as origin
    from events
    where
        reason in (select reason from event_reasons)
        and uid not in (select uid from told_by_conditions)
),

xid_facts as (
    select
        cluster,
        t,
        'xid' as source,
        coalesce(
            nullif(regexp_extract(message, '(?i)\bxid(?:\s*\([^)]*\))?[\s:=]+(\d{1,3})\b', 1), ''),
            regexp_extract(reason, '^NvidiaXID(\d+)', 1)
        ) as value,
        node_uid,
        pod_uid,
        null as job,
        null as type,
        'event ' || coalesce(namespace || '/', '') || name as origin
    from events
    where regexp_matches(message, '(?i)\bxid(?:\s*\([^)]*\))?[\s:=]+\d{1,3}\b')
),

taint_facts as (
    select distinct
        node.cluster,
        taint."timeAdded" as t,
        'taint' as source,
        taint.key as value,
        node.node_uid,
        null as pod_uid,
        null as job,
        null as type,
        'node ' || node.name as origin
    from
        (select cluster, node_uid, name, unnest(taints) as taint from observed.node_versions)
            as node
    inner join known_reasons
        on known_reasons.scope = 'taint' and regexp_matches(taint.key, known_reasons.pattern)
    where taint."timeAdded" is not null
),

waiting_facts as (
    select
        pod.cluster,
        min(pod.first_seen_at) as t,
        'container_waiting_reason' as source,
        pod.reason as value,
        null as node_uid,
        pod.pod_uid,
        null as job,
        null as type,
        'pod ' || any_value(pod.name) as origin
    from (
        select cluster, pod_uid, name, first_seen_at, unnest(waiting_reasons) as reason
        from observed.pod_versions
        where first_seen_at is not null
    ) as pod
    semi join (
        select distinct reason
        from catalog.k8s_reasons
        where scope = 'container_waiting_reason' and strength > 0
    ) as known on pod.reason = known.reason
    group by pod.cluster, pod.pod_uid, pod.reason
),

status_facts as (
    select
        pod.cluster,
        coalesce(pod.terminated_at, pod.disrupted_at, pod.deleted_at) as t,
        'pod_status_reason' as source,
        pod.status_reason as value,
        null as node_uid,
        pod.pod_uid,
        null as job,
        null as type,
        'pod ' || pod.name as origin
    from observed.pod_lives as pod
    semi join (
        select distinct reason from catalog.k8s_reasons where scope = 'pod_status_reason'
    ) as known on pod.status_reason = known.reason
),

admission_facts as (
    select distinct
        point.cluster,
        point.occurred_at as t,
        'kueue_workload' as source,
        point.reason as value,
        null as node_uid,
        null as pod_uid,
        point.job,
        point.type,
        'workload ' || point.uid as origin
    from observed.admission_points as point
    inner join catalog.k8s_reasons as known
        on
            known.scope = 'kueue_workload'
            and point.type = known.type
            and point.reason = known.reason
    where known.strength > 0
),

workload_facts as (
    select
        object.cluster,
        object.ended_at as t,
        known.scope as source,
        object.end_reason as value,
        null as node_uid,
        null as pod_uid,
        object.job,
        null as type,
        lower(object.kind) || ' ' || object.name as origin
    from observed.workload_objects as object
    inner join catalog.k8s_reasons as known
        on
            known.scope
            = case object.kind when 'JobSet' then 'jobset_condition' else 'job_condition' end
            and object.end_reason = known.reason
    where object.ended_at is not null and known.domain <> 'baseline'
),

facts as (
    select * from event_facts
    union all
    select * from xid_facts
    union all
    select * from taint_facts
    union all
    select * from waiting_facts
    union all
    select * from status_facts
    union all
    select * from admission_facts
    union all
    select * from workload_facts
),

pods as (
    select
        cluster,
        pod_uid,
        split_part(pod_uid, '#', 1) as object_uid,
        job,
        attempt,
        node_uid,
        rank,
        bound_at
    from observed.pods_kube
),

attempts as (
    select cluster, job, attempt, start
    from observed.attempts_kube
),

of_pods as (
    select
        facts.*,
        pods.pod_uid as attempt_pod_uid,
        pods.job as pod_job,
        pods.attempt as pod_attempt,
        pods.node_uid as pod_node_uid,
        pods.rank
    from facts
    asof left join pods
        on
            facts.cluster = pods.cluster
            and facts.pod_uid = pods.object_uid
            and facts.t >= pods.bound_at
),

of_jobs as (
    select
        of_pods.*,
        attempts.attempt as job_attempt
    from of_pods
    asof left join attempts
        on
            of_pods.cluster = attempts.cluster
            and of_pods.job = attempts.job
            and of_pods.t >= attempts.start
)

select
    cluster,
    t,
    source,
    value,
    coalesce(node_uid, pod_node_uid) as node_uid,
    coalesce(attempt_pod_uid, pod_uid) as pod_uid,
    coalesce(job, pod_job) as job,
    coalesce(pod_attempt, job_attempt) as attempt,
    rank,
    type,
    origin
from of_jobs
where t is not null
-- Pods without GPUs matter to nobody here.
and (pod_uid is null or attempt_pod_uid is not null or job is not null)
