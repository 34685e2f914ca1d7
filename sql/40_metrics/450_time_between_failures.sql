-- Time between failures (STANDARD 5.3). mtbf_hours is node-hours in service per incident that
-- failed nodes, failures_per_1000_node_days its reciprocal in other units, by class too: a switch
-- that takes down twenty nodes failed once (4.7). mttf_hours is the
-- running time of attempts per unplanned interruption, by job size and by the domain of the class:
-- small jobs die of other causes than large ones, so no size predicts another. Without a failure
-- there is no value, only the bound.
--
-- grain: cluster, metric, scope, scope_value

with nodes as (
    select
        clusters.cluster,
        node_health.pool,
        node_health.cluster as member,
        node_health.node_uid,
        node_health.service_ms
    from rollups.node_health as node_health
    inner join rollups.clusters as clusters on node_health.cluster = clusters.member
),

service as (
    select cluster, 'fleet' as scope, '' as scope_value, sum(service_ms) as exposure_ms
    from nodes
    group by cluster
    union all
    select cluster, 'pool' as scope, pool as scope_value, sum(service_ms) as exposure_ms
    from nodes
    where pool is not null
    group by cluster, pool
),

failures as (
    select
        nodes.cluster,
        nodes.pool,
        node_failures.class,
        (nodes.member, node_failures.incident) as incident
    from rollups.node_failures as node_failures
    inner join nodes
        on node_failures.cluster = nodes.member and node_failures.node_uid = nodes.node_uid
),

node_counts as (
    select
        cluster,
        'fleet' as scope,
        '' as scope_value,
        count(distinct incident) as event_count
    from failures
    group by cluster
    union all
    select
        cluster,
        'pool' as scope,
        pool as scope_value,
        count(distinct incident) as event_count
    from failures
    group by cluster, pool
),

node_rates as (
    select
        service.cluster,
        service.scope,
        service.scope_value,
        cast(service.exposure_ms as double) / 3600000 as exposure_hours,
        coalesce(node_counts.event_count, 0) as event_count
    from service
    left join node_counts
        on
            service.cluster = node_counts.cluster
            and service.scope = node_counts.scope
            and service.scope_value = node_counts.scope_value
),

attempts as (
    select
        clusters.cluster,
        attempts.size,
        attempts.running_ms,
        attempts.domain,
        attempts.is_ended
        and coalesce(
            attempts.counts_as <> 'planned' and attempts.domain not in ('user', 'baseline'), false
        ) as is_failure
    from rollups.attempts as attempts
    inner join rollups.clusters as clusters on attempts.cluster = clusters.member
),

running as (
    -- A fleet without attempts has a row all the same.
    select
        fleets.cluster,
        coalesce(sum(attempts.running_ms), 0) as exposure_ms,
        count(*) filter (where attempts.is_failure) as event_count
    from (select distinct cluster from rollups.clusters) as fleets
    left join attempts on fleets.cluster = attempts.cluster
    group by fleets.cluster
),

domains as (
    select distinct domain from catalog.taxonomy where domain not in ('user', 'baseline')
),

job_rates as (
    select
        cluster,
        'fleet' as scope,
        '' as scope_value,
        cast(exposure_ms as double) / 3600000 as exposure_hours,
        event_count
    from running
    union all
    select
        cluster,
        'job_size' as scope,
        size as scope_value,
        cast(sum(running_ms) as double) / 3600000 as exposure_hours,
        count(*) filter (where is_failure) as event_count
    from attempts
    where size is not null
    group by cluster, size
    union all
    -- Every domain is at risk for the whole running time.
    select
        running.cluster,
        'domain' as scope,
        domains.domain as scope_value,
        cast(max(running.exposure_ms) as double) / 3600000 as exposure_hours,
        count(attempts.domain) as event_count
    from running
    cross join domains
    left join attempts
        on
            running.cluster = attempts.cluster
            and domains.domain = attempts.domain
            and attempts.is_failure
    group by running.cluster, domains.domain
),

figures as (
    select
        'mtbf_hours' as metric, cluster, scope, scope_value, event_count,
        exposure_hours as numerator,
        cast(event_count as double) as denominator,
        'hours' as unit
    from node_rates
    union all
    select
        'failures_per_1000_node_days' as metric, cluster, scope, scope_value, event_count,
        cast(event_count as double) as numerator,
        exposure_hours / 24000 as denominator,
        'failures per 1000 node-days' as unit
    from node_rates
    union all
    select
        'failures_per_1000_node_days' as metric, service.cluster, 'class' as scope,
        failures.class as scope_value, count(distinct failures.incident) as event_count,
        cast(count(distinct failures.incident) as double) as numerator,
        max(cast(service.exposure_ms as double)) / 86400000000 as denominator,
        'failures per 1000 node-days' as unit
    from failures
    inner join service on failures.cluster = service.cluster and service.scope = 'fleet'
    group by service.cluster, failures.class
    union all
    select
        'mttf_hours' as metric, cluster, scope, scope_value, event_count,
        exposure_hours as numerator,
        cast(event_count as double) as denominator,
        'hours' as unit
    from job_rates
)

select
    metric,
    scope,
    scope_value,
    numerator / nullif(denominator, 0) as value,
    cast(null as double) as low,
    cast(null as double) as high,
    numerator,
    denominator,
    cast(event_count as bigint) as event_count,
    unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from figures
