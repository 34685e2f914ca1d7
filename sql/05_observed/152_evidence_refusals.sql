-- Stretches through which Karpenter refused to repair a node, from its events NodeRepairBlocked [5.8].
--
-- A refusal that is repeated raises the count of its event. What happened between two versions of it
-- is known by the count alone: if the refusals were no further apart than repair_blocked_s on the
-- average, the node was refused all the way. The first and the last of them are in evidence_kube, too.
--
-- grain: row

with versions as (
    select cluster, uid, first_at as refused_at, 1 as refusal_count
    from raw.kube_events
    where reason = 'NodeRepairBlocked'
    union
    select cluster, uid, last_at, count
    from raw.kube_events
    where reason = 'NodeRepairBlocked'
),

points as (
    select cluster, uid, refused_at, max(refusal_count) as refusal_count
    from versions
    group by cluster, uid, refused_at
),

steps as (
    select
        *,
        lag(refused_at) over versions_of as refused_before,
        refusal_count - lag(refusal_count) over versions_of as more_count
    from points
    window versions_of as (partition by cluster, uid order by refused_at)
)

select
    steps.cluster,
    steps.refused_at as t,
    'event' as source,
    'NodeRepairBlocked' as value,
    event.node_uid,
    case
        when
            ms_of(steps.refused_at) - ms_of(steps.refused_before)
            <= 1000 * getvariable('repair_blocked_s') * greatest(1, steps.more_count)
            then steps.refused_before
        else steps.refused_at
    end as "from",
    steps.refused_at as "to",
    'event ' || coalesce(event.namespace || '/', '') || event.name as origin
from steps
inner join observed.event_objects as event using (cluster, uid)
where event.node_uid is not null and steps.refused_before is not null
