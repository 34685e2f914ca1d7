-- GPU pods of clusters of which only Prometheus tells, with the job and the attempt they belong to.
--
-- A pod holds its GPUs from its first sample with a node until its phase is final, or else until its last
-- sample, if others go on. The job is the topmost owner that is known: what owns the Job, the Job, the pod
-- itself. Its pods that overlap are one attempt.
--
-- grain: cluster, pod_uid
-- nothing without: observed.prom_runs

with known as (
    select cluster from observed.pods_kube
    union
    select cluster from raw.pods
),

runs as (
    select
        *,
        coalesce(
            labels ->> '$.uid', concat_ws('/', labels ->> '$.namespace', labels ->> '$.pod')
        ) as pod_uid
    from observed.prom_runs
    anti join known using (cluster)
    where query in ('pod_gpus', 'pod_phase', 'pod_owner', 'pod_reason')
),

newest as (
    select cluster, max(last_at) as newest_at
    from runs
    where query = 'pod_gpus'
    group by cluster
),

containers as (
    select
        cluster,
        pod_uid,
        labels ->> '$.namespace' as namespace,
        labels ->> '$.pod' as name,
        node_name,
        labels ->> '$.container' as container,
        max(try_cast(value as double)) as gpus,
        min(started_at) as bound_at,
        max(last_at) as last_at,
        max(interval_ms) as interval_ms,
        min(ingested_at) as ingested_at,
        min(ingested_from) as ingested_from
    from runs
    where
        query = 'pod_gpus'
        and labels ->> '$.resource' in ('nvidia_com_gpu', 'amd_com_gpu', 'habana_ai_gaudi')
        and node_name is not null
    group by all
),

held as (
    select
        cluster,
        pod_uid,
        namespace,
        name,
        node_name,
        cast(least(sum(gpus), 16384) as integer) as gpus,
        min(bound_at) as bound_at,
        max(last_at) as last_at,
        max(interval_ms) as interval_ms,
        min(ingested_at) as ingested_at,
        min(ingested_from) as ingested_from
    from containers
    group by cluster, pod_uid, namespace, name, node_name
    having sum(gpus) > 0
),

phases as (
    select
        cluster,
        pod_uid,
        min(started_at) filter (where value = 'Running') as running_at,
        min(started_at) filter (where value in ('Succeeded', 'Failed')) as terminated_at,
        arg_max(value, started_at) as phase
    from runs
    where query = 'pod_phase'
    group by cluster, pod_uid
),

reasons as (
    select cluster, pod_uid, arg_min(value, started_at) as reason
    from runs
    where query = 'pod_reason'
    group by cluster, pod_uid
),

job_owners as (
    select
        cluster,
        labels ->> '$.namespace' as namespace,
        labels ->> '$.job' as name,
        arg_min(labels ->> '$.kind', started_at) as top_kind,
        arg_min(labels ->> '$.name', started_at) as top_name
    from observed.prom_runs
    where query = 'job_owner' and labels ->> '$.kind' is not null and labels ->> '$.kind' <> '<none>'
    group by all
),

owners as (
    select
        run.cluster,
        run.pod_uid,
        arg_min(
            coalesce(job_owners.top_kind, run.labels ->> '$.kind'), run.started_at
        ) as kind,
        arg_min(
            coalesce(job_owners.top_name, run.labels ->> '$.name'), run.started_at
        ) as name
    from runs as run
    left join job_owners
        on
            run.cluster = job_owners.cluster
            and run.labels ->> '$.namespace' = job_owners.namespace
            and run.labels ->> '$.kind' = 'Job'
            and run.labels ->> '$.name' = job_owners.name
    where run.query = 'pod_owner' and run.labels ->> '$.kind' <> '<none>'
    group by run.cluster, run.pod_uid
),

lives as (
    select
        held.cluster,
        held.pod_uid,
        held.name,
        held.namespace,
        concat_ws('/', held.namespace, coalesce(owners.name, held.name)) as job,
        coalesce(owners.name, held.name) as job_name,
        coalesce(owners.kind, 'Pod') as owner_kind,
        node.node_uid,
        held.gpus,
        held.bound_at,
        phases.running_at,
        coalesce(
            phases.terminated_at,
            case
                when
                    newest.newest_at - held.last_at
                    > to_milliseconds(cast(2.5 * held.interval_ms as bigint))
                    then held.last_at
            end
        ) as ended_at,
        case when phases.terminated_at is not null then phases.phase end as final_phase,
        reasons.reason,
        held.ingested_at,
        held.ingested_from
    from held
    inner join newest using (cluster)
    left join phases using (cluster, pod_uid)
    left join reasons using (cluster, pod_uid)
    left join owners using (cluster, pod_uid)
    left join observed.prom_nodes as node
        on
            held.cluster = node.cluster
            and held.node_name = node.node_name
            and held.last_at >= node.born_at
            and held.bound_at < node.gone_at
    qualify row_number() over (
        partition by held.cluster, held.pod_uid order by node.born_at desc nulls last
    ) = 1
),

begun as (
    select
        *,
        coalesce(
            bound_at >= max(coalesce(ended_at, 'infinity')) over (
                partition by cluster, job order by bound_at, pod_uid
                rows between unbounded preceding and 1 preceding
            ),
            false
        ) as is_next
    from lives
)

select
    *,
    1 + cast(
        count(*) filter (where is_next) over (
            partition by cluster, job order by bound_at, pod_uid
            rows between unbounded preceding and current row
        ) as integer
    ) as attempt
from begun
