-- Interruptions and outages, each with the incident that it belongs to [4.7].
--
-- One incident is: what has the same row of evidence as its root; what is of one class within
-- incident_s of each other on one node, or on nodes that share a topology label; and on nodes
-- without such a label, if there are incident_nodes of them. A rack or switch says nothing about
-- storage: its classes go by the number of nodes. Outages that are no failures are no incidents.
-- incident is made of the class, the first instant and the place; it may change when more is known.
--
-- grain: cluster, job, attempt, node_uid, profile, started_ms

with failures as (
    select
        cluster,
        job,
        attempt,
        cast(null as varchar) as node_uid,
        cast(null as integer) as profile,
        cast(null as bigint) as started_ms,
        attribution.class,
        attribution.node_uid as blamed_uid,
        attribution.root,
        onset.onset_ms as at_ms,
        job || '/' || attempt as alone
    from intervals.attribution as attribution
    inner join intervals.attempt_onsets as onset using (cluster, job, attempt)

    union all

    select
        outage.cluster,
        null,
        null,
        outage.node_uid,
        outage.profile,
        outage.started_ms,
        outage.class,
        outage.node_uid,
        outage.root,
        outage.started_ms,
        outage.node_uid
    from intervals.outages as outage
    inner join catalog.taxonomy as taxonomy using (class)
    where taxonomy.domain <> 'baseline'
),

placed as (
    select
        failure.*,
        coalesce(failure.root.at_ms, failure.at_ms) as root_ms,
        case when failure.class not like 'sto.%' then node.topology end as label,
        case
            when label is not null then 'label'
            when node.node_uid is not null then 'node'
            else 'none'
        end as place_kind,
        coalesce(label, node.node_uid, failure.alone) as place
    from failures as failure
    left join staged.nodes as node
        on
            failure.cluster = node.cluster
            and coalesce(failure.root.node_uid, failure.blamed_uid) = node.node_uid
),

-- Runs in which each failure follows the one before within incident_s: at one place, and anywhere.
stepped as (
    select
        *,
        root_ms - lag(root_ms) over at_place > 1000 * getvariable('incident_s') as is_new_at_place,
        root_ms - lag(root_ms) over anywhere > 1000 * getvariable('incident_s') as is_new_anywhere
    from placed
    window
        at_place as (partition by cluster, class, place_kind, place order by root_ms),
        anywhere as (partition by cluster, class, place_kind order by root_ms)
),

runs as (
    select
        *,
        sum(case when is_new_at_place then 1 else 0 end) over (
            partition by cluster, class, place_kind, place order by root_ms
        ) as place_run,
        sum(case when is_new_anywhere then 1 else 0 end) over (
            partition by cluster, class, place_kind order by root_ms
        ) as class_run
    from stepped
),

-- Where enough nodes without a label fail in one run, the run is the incident.
wide_runs as (
    select cluster, class, class_run
    from runs
    where place_kind = 'node'
    group by cluster, class, class_run
    having count(distinct place) >= getvariable('incident_nodes')
),

grouped as (
    select
        runs.*,
        case when wide.class_run is null then runs.place end as narrow_place,
        coalesce(wide.class_run, runs.place_run) as run
    from runs
    left join wide_runs as wide
        on
            runs.place_kind = 'node'
            and runs.cluster = wide.cluster
            and runs.class = wide.class
            and runs.class_run = wide.class_run
),

incidents as (
    select
        cluster,
        class,
        place_kind,
        narrow_place,
        run,
        min(root_ms) as started_ms,
        min(place) as place
    from grouped
    group by cluster, class, place_kind, narrow_place, run
)

select
    member.cluster,
    member.job,
    member.attempt,
    member.node_uid,
    member.profile,
    member.started_ms,
    member.label,
    incident.started_ms as incident_started_ms,
    concat_ws(
        ' ',
        member.class,
        strftime(make_timestamp(incident.started_ms * 1000), '%Y-%m-%dT%H:%M:%SZ'),
        incident.place
    ) as incident
from grouped as member
inner join incidents as incident
    on
        member.cluster = incident.cluster
        and member.class = incident.class
        and member.place_kind = incident.place_kind
        and member.narrow_place is not distinct from incident.narrow_place
        and member.run = incident.run
