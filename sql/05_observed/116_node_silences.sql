-- Spans in which a node's lease proves that its kubelet was silent: fail closed [STANDARD 1.6].
--
-- The kubelet renews its lease every ten seconds. A look at a lease that is older than its own duration says
-- that nobody spoke for the node from then on, until the next sign of life: a renewal, a heartbeat, a
-- Ready that the kubelet set. The clock of a node may be behind: what every look at a living node lacks
-- is the clock's fault. Looks that found the lease fresh say nothing about the time between them.
--
-- grain: cluster, node_uid, started_at

with seen as (
    select
        cluster,
        name,
        case when owner_kind = 'Node' then owner_uid end as owner_uid,
        observed_at,
        try_cast(body ->> '$.spec.renewTime' as timestamptz) as renewed_at,
        to_seconds(
            coalesce(
                nullif(try_cast(body ->> '$.spec.leaseDurationSeconds' as integer), 0), 40
            )
        ) as bound
    from raw.kube_objects
    where kind = 'Lease' and not is_deleted and observed_at is not null
),

looks as (
    select
        seen.cluster,
        coalesce(seen.owner_uid, node.node_uid) as node_uid,
        seen.observed_at,
        seen.renewed_at,
        seen.bound
    from seen
    asof left join observed.nodes_kube as node
        on
            seen.cluster = node.cluster
            and seen.name = node.name
            and seen.observed_at >= node.registered_at
    where seen.renewed_at is not null
),

clocks as (
    select
        cluster,
        node_uid,
        case
            when
                count(distinct renewed_at) > 1 and min(observed_at - renewed_at) > max(bound)
                then min(observed_at - renewed_at)
            else to_seconds(0)
        end as behind
    from looks
    where node_uid is not null
    group by cluster, node_uid
),

ready as (
    select
        cluster,
        node_uid,
        list_filter(conditions, lambda condition: condition.type = 'Ready')[1] as condition
    from observed.node_versions
),

beats as (
    select looks.cluster, looks.node_uid, looks.renewed_at + clocks.behind as beat_at
    from looks
    inner join clocks using (cluster, node_uid)

    union

    select cluster, node_uid, condition."lastHeartbeatTime"
    from ready
    where condition."lastHeartbeatTime" is not null

    union

    select cluster, node_uid, condition."lastTransitionTime"
    from ready
    where condition.status <> 'Unknown' and condition."lastTransitionTime" is not null
),

followed as (
    select *, lead(beat_at) over (partition by cluster, node_uid order by beat_at) as next_at
    from beats
)

select
    looks.cluster,
    looks.node_uid,
    followed.beat_at + max(looks.bound) as started_at,
    followed.next_at as ended_at
from looks
asof inner join followed
    on
        looks.cluster = followed.cluster
        and looks.node_uid = followed.node_uid
        and looks.observed_at >= followed.beat_at
where looks.observed_at > followed.beat_at + looks.bound
group by looks.cluster, looks.node_uid, followed.beat_at, followed.next_at
