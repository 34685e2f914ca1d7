-- Two rates each, for the metrics that are the ratio of them: events over an exposure beside other events
-- over another. Their interval is that of two Poisson counts (STANDARD 5.12).
--
-- warning_lift: interruptions laid to a node within the horizon of a warning there, over that time, beside
-- all others over the rest of the time in service. Onsets that had no whole horizon yet by the knowledge
-- time are left out; a class has its lift from five onsets on.
--
-- grain: cluster, metric, scope, scope_value
-- nothing without: rollups.warning_onsets

with onsets as (
    select *
    from rollups.warning_onsets
    where
        started_ms >= getvariable('window_start_ms')
        and started_ms < getvariable('window_end_ms')
        and started_ms + horizon_ms <= getvariable('as_of_ms')
),

exposed as (
    select
        clusters.cluster,
        onsets.horizon,
        onsets.class,
        sum(onsets.horizon_ms) as exposure_ms
    from onsets
    inner join rollups.clusters as clusters on onsets.cluster = clusters.member
    group by clusters.cluster, onsets.horizon, onsets.class
    having count(*) >= 5
),

failures as (
    select
        cluster,
        node_uid,
        ms_of("at") as failed_ms,
        job,
        attempt
    from ledger.interruptions
    where domain = 'infra' and node_uid is not null
),

warned as (
    select
        clusters.cluster,
        onsets.horizon,
        onsets.class,
        count(distinct (failures.cluster, failures.job, failures.attempt)) as event_count
    from onsets
    inner join failures
        on
            onsets.cluster = failures.cluster
            and onsets.node_uid = failures.node_uid
            and onsets.started_ms <= failures.failed_ms
            and onsets.started_ms + onsets.horizon_ms > failures.failed_ms
    inner join rollups.clusters as clusters on onsets.cluster = clusters.member
    group by clusters.cluster, onsets.horizon, onsets.class
),

services as (
    select
        clusters.cluster,
        sum(health.service_ms) as service_ms,
        (
            select count(*)
            from failures
            inner join rollups.clusters as places on failures.cluster = places.member
            where places.cluster = clusters.cluster
        ) as event_count
    from rollups.node_health as health
    inner join rollups.clusters as clusters on health.cluster = clusters.member
    group by clusters.cluster
)

select
    exposed.cluster,
    'warning_lift' as metric,
    exposed.horizon as scope,
    exposed.class as scope_value,
    coalesce(warned.event_count, 0) as event_count,
    cast(exposed.exposure_ms as double) / 3600000 as exposure_hours,
    services.event_count - coalesce(warned.event_count, 0) as other_count,
    cast(greatest(0, services.service_ms - exposed.exposure_ms) as double) / 3600000 as other_hours
from exposed
inner join services using (cluster)
left join warned using (cluster, horizon, class)
