-- Failures of single nodes in the 28 days before the window's end: what lemons are told by [5.7].
--
-- Unplanned outages after the node was first ready, and infrastructure interruptions laid to the node.
-- What follows within attrib_before_s of it, or lies inside an outage, is the same failure. What
-- struck several nodes at once (a switch, a rack) is the fault of none of them and is left out.
--
-- grain: cluster, node_uid, occurred_ms
-- nothing without: intervals.incident_members

with events as (
    select
        outage.cluster,
        outage.node_uid,
        outage.started_ms,
        outage.ended_ms,
        outage.class,
        member.incident
    from intervals.outages as outage
    inner join intervals.incident_members as member
        using (cluster, node_uid, profile, started_ms)
    inner join staged.nodes as node using (cluster, node_uid)
    inner join catalog.taxonomy as taxonomy on outage.class = taxonomy.class
    where
        taxonomy.counts_as like 'interruption%'
        and taxonomy.domain in ('infra', 'unknown')
        and not outage.is_planned
        and outage.started_ms >= ms_of(node.ready_at)

    union all

    select
        attribution.cluster,
        attribution.node_uid,
        attempt.ended_ms as started_ms,
        attempt.ended_ms,
        attribution.class,
        member.incident
    from intervals.attribution as attribution
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    inner join intervals.incident_members as member using (cluster, job, attempt)
    inner join catalog.taxonomy as taxonomy on attribution.class = taxonomy.class
    where attribution.node_uid is not null and taxonomy.domain = 'infra'
),

own_events as (
    select events.*
    from events
    semi join (
        select cluster, incident
        from events
        group by cluster, incident
        having count(distinct node_uid) = 1
    ) using (cluster, incident)
    where
        started_ms >= getvariable('window_end_ms') - 2419200000
        and started_ms < getvariable('window_end_ms')
),

spaced as (
    select
        *,
        max(ended_ms) over (
            partition by cluster, node_uid
            order by started_ms, ended_ms desc
            rows between unbounded preceding and 1 preceding
        ) as known_until_ms
    from own_events
),

numbered as (
    select
        *,
        count(*) filter (
            where known_until_ms is null
            or started_ms > known_until_ms + 1000 * getvariable('attrib_before_s')
        ) over (
            partition by cluster, node_uid
            order by started_ms, ended_ms desc
            rows between unbounded preceding and current row
        ) as failure
    from spaced
)

select
    cluster,
    node_uid,
    min(started_ms) as occurred_ms,
    arg_min(class, started_ms) as class
from numbered
group by cluster, node_uid, failure
