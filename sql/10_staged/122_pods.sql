-- Pods that hold GPUs, with their life cycle reconciled [0.3, 0.4].
--
-- The earliest event of a kind fills a time that the pod's own row leaves open. GPUs are released
-- at the earliest known end, and never later than the node object is gone.
--
-- grain: cluster, pod_uid

with newest as (
    select *
    from gathered.pods
    qualify row_number() over (
        partition by cluster, pod_uid
        order by ingested_at desc nulls last, run_id desc nulls last, row_id desc nulls last
    ) = 1
),

first_events as (
    select
        cluster,
        pod_uid,
        min(t) filter (where kind = 'bound') as bound_at,
        min(t) filter (where kind = 'running') as running_at,
        min(t) filter (where kind = 'terminated') as terminated_at,
        min(t) filter (where kind = 'deleted') as deleted_at,
        min_by(exit_code, t) filter (where exit_code is not null) as exit_code,
        min_by(reason, t) filter (where reason is not null) as reason
    from gathered.pod_events
    where t <= getvariable('as_of')
    group by cluster, pod_uid
),

joined as (
    select
        newest.* replace (
            coalesce(newest.bound_at, event.bound_at) as bound_at,
            known(coalesce(newest.running_at, event.running_at)) as running_at,
            known(coalesce(newest.terminated_at, event.terminated_at)) as terminated_at,
            known(newest.released_at) as released_at,
            known(newest.gone_by) as gone_by,
            coalesce(newest.exit_code, event.exit_code) as exit_code,
            coalesce(newest.reason, event.reason) as reason
        ),
        event.deleted_at,
        node.deleted_at as node_deleted_at,
        node.gpus as node_gpus
    from newest
    left join first_events as event using (cluster, pod_uid)
    inner join staged.nodes as node
        on newest.cluster = node.cluster and newest.node_uid = node.node_uid
),

released as (
    select
        * replace (
            least(
                coalesce(released_at, least(terminated_at, deleted_at, gone_by)),
                node_deleted_at
            ) as released_at
        )
    from joined
    where bound_at <= getvariable('as_of')
)

select
    cluster,
    pod_uid,
    coalesce(name, pod_uid) as name,
    namespace,
    job,
    attempt,
    node_uid,
    least(coalesce(gpus, 0), node_gpus) as gpus,
    devices,
    case
        when share is null then 5040
        else
            5040
            * cast(split_part(share, '/', 1) as integer)
            // cast(split_part(share, '/', 2) as integer)
    end as unit_count,
    share is not null as is_shared,
    coalesce(role, 'worker') as role,
    rank,
    bound_at,
    case when released_at is null or running_at < released_at then running_at end as running_at,
    terminated_at,
    released_at,
    exit_code,
    reason,
    disruption,
    last_seen,
    gone_by
from released
where coalesce(released_at, 'infinity') > bound_at
