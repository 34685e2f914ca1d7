-- Every transition of a node condition that a dump proves, to bad and back.
--
-- Ready=Unknown opens at the kubelet's last heartbeat where that is known, not at the controller's flip
-- 40 to 50 seconds later [STANDARD 1.6]. What is bad before the node was Ready the first time is
-- provisioning and no fault.
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

followed as (
    select
        *,
        lead(occurred_at) over (
            partition by cluster, node_uid, type order by occurred_at, resource_version
        ) as next_at
    from transitions
)

select
    followed.cluster,
    followed.node_uid,
    cast(null as integer) as gpu,
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
    cast(null as varchar) as class,
    followed.ingested_at,
    followed.ingested_from,
    cast(null as varchar) as run_id,
    cast(null as varchar) as row_id
from followed
inner join observed.nodes_kube as node using (cluster, node_uid)
where not (
    is_bad_condition(followed.type, followed.status)
    and coalesce(followed.next_at <= node.ready_at, false)
)
