-- Pods that hold GPUs, with their life cycle reconciled [0.3, 0.4].
--
-- The earliest event of a kind fills a time that the pod's own row leaves open. GPUs are released
-- at the earliest known end, and never later than the node object is gone. A pod that vanished was gone
-- at the latest when another was bound that would not have fitted beside it. One that was released when
-- it was bound, or whose node was gone by then, held nothing, but is a member of its gang all the same.
--
-- grain: cluster, pod_uid

-- Most pods are told of once: only what is told of again is put in order.
with repeated as (
    select cluster, pod_uid
    from gathered.pods
    group by cluster, pod_uid
    having count(*) > 1
),

newest as (
    select pod.*
    from gathered.pods as pod
    anti join repeated using (cluster, pod_uid)

    union all by name

    select pod.*
    from gathered.pods as pod
    semi join repeated using (cluster, pod_uid)
    qualify row_number() over (
        partition by pod.cluster, pod.pod_uid
        order by
            pod.ingested_at desc nulls last, pod.run_id desc nulls last, pod.row_id desc nulls last
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
        node.gpus as node_gpus,
        case
            when newest.share is null then 5040
            else
                5040
                * cast(split_part(newest.share, '/', 1) as integer)
                // cast(split_part(newest.share, '/', 2) as integer)
        end as unit_count
    from newest
    left join first_events as event using (cluster, pod_uid)
    inner join staged.nodes as node
        on newest.cluster = node.cluster and newest.node_uid = node.node_uid
),

sized as (
    select *, least(coalesce(gpus, 0), node_gpus) * unit_count as held_units
    from joined
),

-- Few nodes have pods that vanished.
crowded as (
    select *
    from sized
    semi join (
        select cluster, node_uid from sized where last_seen < gone_by
    ) using (cluster, node_uid)
),

-- Each pod that vanished beside each that was bound before it was missed.
takers as (
    select
        vanished.cluster,
        vanished.pod_uid,
        taker.bound_at,
        vanished.held_units + taker.held_units as held_units,
        coalesce(sum(other.held_units), 0) as other_units,
        any_value(vanished.node_gpus) * 5040 as node_units
    from crowded as vanished
    inner join crowded as taker
        on
            vanished.cluster = taker.cluster
            and vanished.node_uid = taker.node_uid
            and vanished.pod_uid <> taker.pod_uid
            and taker.bound_at > vanished.last_seen
            and taker.bound_at < vanished.gone_by
    left join crowded as other
        on
            vanished.cluster = other.cluster
            and vanished.node_uid = other.node_uid
            and other.pod_uid not in (vanished.pod_uid, taker.pod_uid)
            and other.gone_by is null
            and other.bound_at <= taker.bound_at
            and coalesce(
                other.released_at, least(other.terminated_at, other.deleted_at), 'infinity'
            ) > taker.bound_at
    group by
        vanished.cluster,
        vanished.pod_uid,
        taker.pod_uid,
        taker.bound_at,
        vanished.held_units,
        taker.held_units
),

displaced as (
    select cluster, pod_uid, min(bound_at) as gone_by
    from takers
    where held_units + other_units > node_units
    group by cluster, pod_uid
),

bounded as (
    select joined.* replace (least(joined.gone_by, displaced.gone_by) as gone_by)
    from joined
    left join displaced using (cluster, pod_uid)
),

released as (
    select
        * replace (
            least(
                coalesce(released_at, least(terminated_at, deleted_at, gone_by)),
                node_deleted_at
            ) as released_at
        )
    from bounded
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
    unit_count,
    share is not null as is_shared,
    coalesce(role, 'worker') as role,
    rank,
    bound_at,
    case when released_at is null or running_at < released_at then running_at end as running_at,
    terminated_at,
    case when released_at < bound_at then bound_at else released_at end as released_at,
    exit_code,
    reason,
    disruption,
    last_seen,
    gone_by
from released
