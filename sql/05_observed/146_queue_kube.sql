-- Workloads waiting for GPUs: in Kueue until admitted, then as pods until the gang is bound.
--
-- A suspended workload that no queue manages waits for its owner, not for capacity [STANDARD 1.7].
--
-- grain: row

with workloads as (
    select
        workload.cluster,
        workload.uid,
        arg_max(
            from_json(workload.body, '{
                "spec": {"active": "BOOLEAN"},
                "pod_sets": [{
                    "count": "INTEGER",
                    "gpu_requests": "MAP(VARCHAR, INTEGER)",
                    "node_selector": "MAP(VARCHAR, VARCHAR)"
                }]
            }'),
            coalesce(workload.observed_at, 'epoch')
        ) as workload,
        max(workload.ingested_at) as ingested_at,
        max(workload.ingested_from) as ingested_from,
        any_value(coalesce(presence.deleted_at, presence.missing_at)) as gone_at
    from raw.kube_objects as workload
    left join observed.object_presence as presence
        on
            workload.cluster = presence.cluster
            and presence.kind = 'Workload'
            and workload.uid = presence.uid
    where workload.kind = 'Workload'
    group by workload.cluster, workload.uid
),

sets as (
    select
        * exclude (workload),
        coalesce(workload.spec.active, true) as is_active,
        unnest(workload.pod_sets) as pod_set
    from workloads
),

turns as (
    select
        cluster,
        uid,
        job,
        kind,
        occurred_at,
        lead(occurred_at) over turn_order as next_at,
        lag(kind) over turn_order as kind_before
    from observed.admission_points
    where kind <> 'preempted'
    window turn_order as (partition by cluster, uid order by occurred_at, kind desc)
),

-- An eviction or requeue counts as the begin of waiting; waiting twice in a row is one wait.
waits as (
    select
        cluster,
        uid,
        job,
        occurred_at as started_at,
        (
            select min(point.occurred_at)
            from observed.admission_points as point
            where
                point.cluster = turns.cluster
                and point.uid = turns.uid
                and point.kind in ('admitted', 'finished')
                and point.occurred_at >= turns.occurred_at
        ) as ended_at
    from turns
    where
        kind in ('waits', 'evicted')
        and coalesce(kind_before, 'admitted') in ('admitted', 'finished')
),

admission_waits as (
    select
        waits.cluster,
        waits.job,
        waits.started_at,
        coalesce(waits.ended_at, sets.gone_at) as ended_at,
        not sets.is_active and waits.ended_at is null as is_suspended,
        sets.pod_set.count as pods,
        list_sum(map_values(sets.pod_set.gpu_requests)) as gpus_per_pod,
        sets.pod_set.node_selector as node_selector,
        sets.ingested_at,
        sets.ingested_from,
        null::integer as attempt
    from waits
    inner join sets using (cluster, uid)
    where cardinality(sets.pod_set.gpu_requests) > 0
),

-- A gang waits as a whole; pods that serve wait each for itself.
pods as (
    select
        *,
        case when job_kind = 'training' then '' else pod_uid end as gang,
        least(terminated_at, deleted_at, missing_at) as gone_at
    from observed.gpu_pods
    where created_at is not null
),

unbound_waits as (
    select
        cluster,
        job,
        min(created_at) as started_at,
        max(gone_at) as ended_at,
        false as is_suspended,
        count(*) as pods,
        gpus as gpus_per_pod,
        any_value(node_selector) as node_selector,
        max(ingested_at) as ingested_at,
        max(ingested_from) as ingested_from,
        case when gang <> '' then 1 end as attempt
    from pods
    where bound_at is null
    group by cluster, job, gang, gpus, gone_at is null
),

bound_waits as (
    select
        pods.cluster,
        pods.job,
        min(pods.created_at) as started_at,
        case when pods.gang = '' then attempt.start else min(pods.bound_at) end as ended_at,
        false as is_suspended,
        count(*) as pods,
        pods.gpus as gpus_per_pod,
        any_value(pods.node_selector) as node_selector,
        max(pods.ingested_at) as ingested_at,
        max(pods.ingested_from) as ingested_from,
        case when pods.gang = '' then attempt.attempt else 1 end as attempt
    from observed.attempts_kube as attempt
    inner join observed.pods_kube as member using (cluster, job, attempt)
    inner join pods
        on member.cluster = pods.cluster and member.pod_uid = pods.pod_uid
    group by pods.cluster, pods.job, pods.gang, attempt.attempt, attempt.start, pods.gpus
),

suspended_waits as (
    select
        object.cluster,
        object.job,
        coalesce(object.suspended_at, object.created_at) as started_at,
        null::timestamptz as ended_at,
        true as is_suspended,
        object.gpu_pods as pods,
        object.gpus_per_pod,
        map([]::varchar[], []::varchar[]) as node_selector,
        object.ingested_at,
        object.ingested_from,
        null::integer as attempt
    from observed.workload_objects as object
    anti join
        observed.admission_points as point
        on object.cluster = point.cluster and object.job = point.job
    where
        object.is_top
        and object.is_suspended
        and object.gpu_pods > 0
        and object.state is null
        and object.deleted_at is null
        and object.missing_at is null
),

gathered_waits as (
    select * from admission_waits
    union all
    select * from bound_waits
    union all
    select * from unbound_waits
    union all
    select * from suspended_waits
),

numbered as (
    select *, row_number() over () as wait
    from gathered_waits
    where
        started_at is not null
        and ended_at is distinct from started_at
        and (ended_at is null or ended_at > started_at)
),

attempts_before as (
    select numbered.wait, count(attempt.attempt) as attempts
    from numbered
    left join observed.attempts_kube as attempt
        on
            numbered.cluster = attempt.cluster
            and numbered.job = attempt.job
            and attempt.start < coalesce(numbered.ended_at, 'infinity')
    group by numbered.wait
),

selected_pools as (
    select numbered.wait, arg_min(entry.value, label.priority) as pool
    from (select wait, unnest(map_entries(node_selector)) as entry from numbered) as numbered
    inner join catalog.kube_labels as label
        on label.object = 'node' and label.means = 'pool' and entry.key = label.label
    group by numbered.wait
),

job_pools as (
    select cluster, job, mode(pool) as pool
    from observed.gpu_pods
    where pool is not null
    group by cluster, job
),

only_pools as (
    select cluster, min(pool) as pool
    from observed.nodes_kube
    where gpus > 0
    group by cluster
    having count(distinct pool) = 1
)

select
    numbered.cluster,
    numbered.job,
    cast(coalesce(numbered.attempt, attempts_before.attempts + 1) as integer) as attempt,
    coalesce(selected_pools.pool, job_pools.pool, only_pools.pool) as pool,
    cast(numbered.pods as integer) as pods,
    cast(numbered.gpus_per_pod as integer) as gpus_per_pod,
    numbered.started_at as "from",
    numbered.ended_at as "to",
    numbered.is_suspended as suspended,
    numbered.ingested_at,
    numbered.ingested_from
from numbered
inner join attempts_before using (wait)
left join selected_pools using (wait)
left join job_pools using (cluster, job)
left join only_pools using (cluster)
where numbered.pods > 0 and numbered.gpus_per_pod > 0
