-- Time between failures (STANDARD 5.3). mtbf_hours is node-hours in service per incident that
-- failed nodes, failures_per_1000_node_days its reciprocal in other units, by class too: a switch
-- that takes down twenty nodes failed once (4.7). mttf_hours is the
-- running time of attempts per unplanned interruption, by job size and by the domain of the class:
-- small jobs die of other causes than large ones, so no size predicts another. Without a failure
-- there is no value, only the bound.
--
-- interruption_dispersion is how much more the interruptions of jobs vary than chance allows: the squared
-- distances of the counts of jobs from what their running time lets expect, over the number of all. Above
-- 1.5 they come in clusters, as a job fails again and again. From five interruptions and two jobs on.
--
-- grain: cluster, metric, scope, scope_value

with nodes as (
    select
        clusters.cluster,
        [
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'pool', 'scope_value': health.pool},
            {'scope': 'instance_type', 'scope_value': hardware.instance_type},
            {'scope': 'gpu_model', 'scope_value': hardware.gpu_model}
        ] as scopes,
        health.cluster as member,
        health.node_uid,
        health.service_ms
    from rollups.node_health as health
    inner join rollups.clusters as clusters on health.cluster = clusters.member
    left join staged.nodes as hardware
        on health.cluster = hardware.cluster and health.node_uid = hardware.node_uid
),

service as (
    select cluster, scope, scope_value, sum(service_ms) / 3600000 as exposure_hours
    from (select cluster, unnest(scopes, recursive := true), service_ms from nodes)
    where scope_value is not null
    group by cluster, scope, scope_value
),

failures as (
    select
        nodes.cluster,
        unnest(
            list_append(nodes.scopes, {'scope': 'class', 'scope_value': failure.class}),
            recursive := true
        ),
        {'member': nodes.member, 'incident': failure.incident} as incident
    from rollups.node_failures as failure
    inner join nodes
        on failure.cluster = nodes.member and failure.node_uid = nodes.node_uid
),

incidents as (
    select cluster, scope, scope_value, count(distinct incident) as event_count
    from failures
    where scope_value is not null
    group by cluster, scope, scope_value
),

node_rates as (
    select
        cluster,
        scope,
        scope_value,
        service.exposure_hours,
        coalesce(incidents.event_count, 0) as event_count
    from service
    left join incidents using (cluster, scope, scope_value)
),

-- Every class is a risk of all nodes.
class_rates as (
    select
        cluster,
        incidents.scope,
        incidents.scope_value,
        service.exposure_hours,
        incidents.event_count
    from incidents
    inner join service using (cluster)
    where incidents.scope = 'class' and service.scope = 'fleet'
),

attempts as (
    select
        clusters.cluster,
        [
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'job_size', 'scope_value': attempts.size},
            {'scope': 'pool', 'scope_value': attempts.pool},
            {'scope': 'instance_type', 'scope_value': attempts.instance_type},
            {'scope': 'gpu_model', 'scope_value': attempts.gpu_model}
        ] as scopes,
        {'member': attempts.cluster, 'job': attempts.job} as job,
        attempts.running_ms,
        attempts.domain,
        attempts.is_ended
        and coalesce(
            attempts.counts_as <> 'planned' and attempts.domain not in ('user', 'baseline'), false
        ) as is_failure
    from rollups.attempts as attempts
    inner join rollups.clusters as clusters on attempts.cluster = clusters.member
    union all
    -- A fleet without attempts has a row all the same.
    select distinct cluster, [{'scope': 'fleet', 'scope_value': ''}], null, 0, null, false
    from rollups.clusters
),

running as (
    select
        cluster,
        scope,
        scope_value,
        sum(running_ms) / 3600000 as exposure_hours,
        count(*) filter (where is_failure) as event_count
    from (select cluster, unnest(scopes, recursive := true), running_ms, is_failure from attempts)
    where scope_value is not null
    group by cluster, scope, scope_value
),

jobs as (
    select
        cluster,
        count(*) filter (where is_failure) as event_count,
        ratio(sum(running_ms), sum(sum(running_ms)) over of_all)
        * sum(count(*) filter (where is_failure)) over of_all as expected_count
    from attempts
    where job is not null
    group by cluster, job
    window of_all as (partition by cluster)
),

-- Divided by one job less than there are, as one rate is taken from them.
dispersions as (
    select
        cluster,
        cast(sum(event_count) as bigint) as event_count,
        case
            when sum(event_count) >= 5
                then sum((event_count - expected_count) ** 2) / sum(event_count)
                * count(*) / nullif(count(*) - 1, 0)
        end as dispersion
    from jobs
    group by cluster
),

domains as (
    select distinct domain from catalog.taxonomy where domain not in ('user', 'baseline')
),

job_rates as (
    select * from running
    union all
    -- Every domain is at risk for the whole running time.
    select
        running.cluster,
        'domain',
        domains.domain,
        any_value(running.exposure_hours),
        count(attempts.domain)
    from running
    cross join domains
    left join attempts
        on
            running.cluster = attempts.cluster
            and domains.domain = attempts.domain
            and attempts.is_failure
    where running.scope = 'fleet'
    group by running.cluster, domains.domain
),

figures as (
    select
        'mtbf_hours' as metric,
        cluster,
        scope,
        scope_value,
        ratio(exposure_hours, event_count) as value,
        exposure_hours as numerator,
        event_count as denominator,
        event_count,
        'hours' as unit
    from node_rates
    union all by name
    select
        'failures_per_1000_node_days' as metric,
        cluster,
        scope,
        scope_value,
        ratio(event_count, exposure_hours / 24000) as value,
        event_count as numerator,
        exposure_hours / 24000 as denominator,
        event_count,
        'failures per 1000 node-days' as unit
    from (select * from node_rates union all select * from class_rates)
    union all by name
    select
        'mttf_hours' as metric,
        cluster,
        scope,
        scope_value,
        ratio(exposure_hours, event_count) as value,
        exposure_hours as numerator,
        event_count as denominator,
        event_count,
        'hours' as unit
    from job_rates
    union all by name
    select
        'interruption_dispersion' as metric,
        cluster,
        'fleet' as scope,
        '' as scope_value,
        dispersion as value,
        event_count,
        'variance per mean' as unit
    from dispersions
)

select * from metric_rows(figures)
