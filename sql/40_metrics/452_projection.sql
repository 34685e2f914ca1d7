-- What hardware failures alone would allow (STANDARD 5.5): hours between the failures of a job that runs
-- on so many GPUs, projected from the rate at which nodes fail. A bound and no forecast: small jobs die
-- of other causes. Up to four times the largest job that was seen; numerators are node-hours in service
-- per node of the job. failure_dispersion is the variance of the weekly counts of incidents over
-- their mean, in up to four whole weeks before the window's end: above 1.5 they come in clusters, and the
-- intervals of failure rates of nodes are taken from a negative-binomial count.
--
-- grain: cluster, metric, scope, scope_value

with nodes as (
    select
        clusters.cluster,
        health.cluster as member,
        health.node_uid,
        health.service_ms,
        node.gpus
    from rollups.node_health as health
    inner join rollups.clusters as clusters on health.cluster = clusters.member
    left join staged.nodes as node
        on health.cluster = node.cluster and health.node_uid = node.node_uid
),

fleets as (
    select
        cluster,
        sum(service_ms) as service_ms,
        max(gpus) as gpus
    from nodes
    group by cluster
),

failures as (
    select
        nodes.cluster,
        count(distinct (nodes.member, failure.incident)) as event_count
    from rollups.node_failures as failure
    inner join nodes
        on failure.cluster = nodes.member and failure.node_uid = nodes.node_uid
    inner join catalog.taxonomy as taxonomy on failure.class = taxonomy.class
    where taxonomy.domain = 'infra'
    group by nodes.cluster
),

largest as (
    select
        clusters.cluster,
        max(attempts.gpus) as gpus
    from rollups.attempts as attempts
    inner join rollups.clusters as clusters on attempts.cluster = clusters.member
    where attempts.running_ms > 0
    group by clusters.cluster
),

projections as (
    select
        fleets.cluster,
        sizes.gpus_to as gpus,
        cast(fleets.service_ms as double) / 3600000 / ceil(sizes.gpus_to / fleets.gpus)
            as exposure_hours,
        coalesce(failures.event_count, 0) as event_count
    from fleets
    inner join largest on fleets.cluster = largest.cluster
    inner join catalog.job_sizes as sizes on sizes.gpus_to <= 4 * largest.gpus
    left join failures on fleets.cluster = failures.cluster
    where fleets.gpus > 0
),

-- The name of an incident begins with its class.
incidents as (
    select distinct
        member.cluster,
        member.incident,
        member.incident_started_ms
    from intervals.incident_members as member
    inner join catalog.taxonomy as taxonomy
        on split_part(member.incident, ' ', 1) = taxonomy.class
    where taxonomy.counts_as like 'interruption%' and taxonomy.domain in ('infra', 'unknown')
),

-- A week before the first node is no week without failures.
weeks as (
    select
        clusters.cluster,
        week.number,
        count(incident.incident) as n
    from rollups.clusters as clusters
    inner join (
        select cluster, min(ms_of(paid_from)) as began_ms
        from staged.nodes
        group by cluster
    ) as history
        on clusters.member = history.cluster
    inner join (select unnest(range(4)) as number) as week
        on history.began_ms <= getvariable('window_end_ms') - (week.number + 1) * 604800000
    left join incidents as incident
        on
            clusters.member = incident.cluster
            and incident.incident_started_ms < getvariable('window_end_ms')
            and (getvariable('window_end_ms') - 1 - incident.incident_started_ms) // 604800000
            = week.number
    group by clusters.cluster, week.number
),

dispersions as (
    select
        cluster,
        var_samp(n) / nullif(avg(n), 0) as dispersion,
        sum(n) as event_count
    from weeks
    group by cluster
),

figures as (
    select
        'mttf_projected_hours' as metric,
        cluster,
        'job_gpus' as scope,
        cast(gpus as varchar) as scope_value,
        exposure_hours / nullif(event_count, 0) as value,
        exposure_hours as numerator,
        event_count as denominator,
        event_count,
        'hours' as unit
    from projections
    union all by name
    select
        'failure_dispersion' as metric,
        cluster,
        'fleet' as scope,
        '' as scope_value,
        dispersion as value,
        event_count,
        'variance per mean' as unit
    from dispersions
)

select * from metric_rows(figures)
