-- Every transition of a node condition that a dump proves, to bad and back.
--
-- Ready=Unknown opens at the kubelet's last heartbeat where that is known, not at the controller's flip
-- 40 to 50 seconds later [STANDARD 1.6]. While its lease is stale, every condition of a node is Unknown:
-- nobody checks it, whatever it says. What is bad before the node was Ready the first time is provisioning
-- and no fault.
--
-- grain: row

with conditions as (
    select
        cluster,
        node_uid,
        resource_version,
        ingested_at,
        ingested_from,
        first_seen_at,
        unnest(conditions) as condition
    from observed.node_versions
),

transitions as (
    select
        cluster,
        node_uid,
        condition.type as type,
        condition.status as status,
        condition.reason as reason,
        case
            when condition.type = 'Ready' and condition.status = 'Unknown'
                then least(condition."lastHeartbeatTime", condition."lastTransitionTime")
            else condition."lastTransitionTime"
        end as occurred_at,
        min(resource_version) as resource_version,
        min(ingested_at) as ingested_at,
        min(ingested_from) as ingested_from
    from conditions
    where
        condition.status in ('True', 'False', 'Unknown')
        and condition.type is not null
        and condition."lastTransitionTime" is not null
    group by all
),

types as (
    select distinct cluster, node_uid, type
    from transitions
),

silenced as (
    select
        silence.cluster,
        silence.node_uid,
        types.type,
        silence.started_at,
        silence.ended_at,
        before.ingested_at,
        before.ingested_from
    from observed.node_silences as silence
    inner join types using (cluster, node_uid)
    asof inner join transitions as before
        on
            types.cluster = before.cluster
            and types.node_uid = before.node_uid
            and types.type = before.type
            and silence.started_at >= before.occurred_at
    where before.status <> 'Unknown'
),

all_transitions as (
    select * from transitions

    union all by name

    select
        cluster,
        node_uid,
        type,
        'Unknown' as status,
        'NodeLeaseStale' as reason,
        started_at as occurred_at,
        ingested_at,
        ingested_from
    from silenced

    union all by name

    -- It speaks again: what it said last holds again.
    select
        silenced.cluster,
        silenced.node_uid,
        silenced.type,
        last_word.status,
        last_word.reason,
        silenced.ended_at as occurred_at,
        silenced.ingested_at,
        silenced.ingested_from
    from silenced
    asof inner join transitions as last_word
        on
            silenced.cluster = last_word.cluster
            and silenced.node_uid = last_word.node_uid
            and silenced.type = last_word.type
            and silenced.ended_at >= last_word.occurred_at
    where last_word.occurred_at < silenced.ended_at
),

followed as (
    select
        *,
        lead(occurred_at) over (
            partition by cluster, node_uid, type order by occurred_at, resource_version
        ) as next_at
    from all_transitions
)

select
    followed.cluster,
    followed.node_uid,
    followed.type,
    followed.status,
    followed.reason,
    case
        when
            is_bad_condition(followed.type, followed.status)
            then greatest(followed.occurred_at, node.ready_at)
        else followed.occurred_at
    end as t,
    followed.resource_version as rv,
    followed.ingested_at,
    followed.ingested_from
from followed
inner join observed.nodes_kube as node using (cluster, node_uid)
where not (
    is_bad_condition(followed.type, followed.status)
    and coalesce(followed.next_at <= node.ready_at, false)
)
