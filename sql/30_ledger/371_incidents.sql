-- What failed at once for one reason: the interruptions and outages of the window that belong
-- together [4.7]. Hardware is counted in incidents, the success of jobs in interruptions.
--
-- grain: cluster, incident

with members as (
    select
        interruption.cluster,
        interruption.incident,
        interruption.class,
        interruption.job,
        interruption.node_uid,
        true as is_interruption,
        interruption.lost_gpu_ms
    from ledger.interruptions as interruption

    union all

    select
        outage.cluster,
        outage.incident,
        outage.class,
        null,
        outage.node_uid,
        false,
        outage.lost_gpu_ms
    from ledger.outages as outage
    where outage.incident is not null
),

begun as (
    select
        cluster,
        incident,
        any_value(incident_started_ms) as started_ms,
        any_value(label) as topology
    from intervals.incident_members
    group by cluster, incident
)

select
    member.cluster,
    member.incident,
    any_value(member.class) as class,
    any_value(taxonomy.domain) as domain,
    instant_of(any_value(begun.started_ms)) as started_at,
    any_value(begun.topology) as topology,
    list_sort(
        coalesce(list(distinct member.node_uid) filter (where member.node_uid is not null), [])
    ) as nodes,
    list_sort(
        coalesce(list(distinct member.job) filter (where member.job is not null), [])
    ) as jobs,
    count(*) filter (where member.is_interruption) as interruption_count,
    count(*) filter (where not member.is_interruption) as outage_count,
    cast(sum(member.lost_gpu_ms) as bigint) as lost_gpu_ms
from members as member
inner join begun using (cluster, incident)
left join catalog.taxonomy as taxonomy on member.class = taxonomy.class
group by member.cluster, member.incident
