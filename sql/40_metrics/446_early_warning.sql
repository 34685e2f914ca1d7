-- What warnings are worth (STANDARD 5.11): of the times that a bad condition which blocks nothing began on
-- a node in the window, how many were followed within an hour, or a day, by an interruption laid to that
-- node (warning_precision); of such interruptions, how many were preceded (warning_recall); how long
-- before (warning_lead_median_hours), and what those caught cost (warning_caught_gpu_hours). Onsets of
-- one class on a node within the horizon of each other count once. A class has its precision from five
-- onsets on; onsets that had no whole horizon yet by the knowledge time are left out.
--
-- grain: cluster, metric, scope, scope_value

with fleets as (
    select distinct cluster from rollups.clusters
),

horizons (horizon_ms, scope) as (
    values
    (3600000, 'warning_1h'),
    (86400000, 'warning_24h')
),

spaced as (
    select
        warning.cluster,
        warning.node_uid,
        warning.class,
        warning.started_ms,
        horizons.scope,
        horizons.horizon_ms,
        lag(warning.started_ms) over (
            partition by warning.cluster, warning.node_uid, warning.class, horizons.scope
            order by warning.started_ms
        ) as previous_ms
    from intervals.condition_repairs as warning
    cross join horizons
    where not warning.is_blocking and not warning.is_in_repair and warning.class is not null
),

onsets as (
    select * from spaced
    where coalesce(started_ms - previous_ms >= horizon_ms, true)
),

failures as (
    select
        cluster,
        node_uid,
        epoch_ms("at") as failed_ms,
        lost_gpu_ms
    from ledger.interruptions
    where domain = 'infra' and node_uid is not null
),

followed as (
    select
        onsets.cluster,
        onsets.class,
        onsets.scope,
        exists (
            select 1
            from failures
            where
                failures.cluster = onsets.cluster
                and failures.node_uid = onsets.node_uid
                and failures.failed_ms >= onsets.started_ms
                and failures.failed_ms < onsets.started_ms + onsets.horizon_ms
        ) as is_followed
    from onsets
    where
        onsets.started_ms >= getvariable('window_start_ms')
        and onsets.started_ms < getvariable('window_end_ms')
        and onsets.started_ms + onsets.horizon_ms <= getvariable('as_of_ms')
),

precisions as (
    select
        clusters.cluster,
        followed.scope,
        followed.class,
        count(*) filter (where followed.is_followed) as caught_count,
        count(*) as n
    from followed
    inner join rollups.clusters as clusters on followed.cluster = clusters.member
    group by clusters.cluster, followed.scope, followed.class
    having count(*) >= 5
),

preceded as (
    select
        failures.cluster,
        horizons.scope,
        failures.lost_gpu_ms,
        (
            select min(failures.failed_ms - onsets.started_ms)
            from onsets
            where
                onsets.cluster = failures.cluster
                and onsets.node_uid = failures.node_uid
                and onsets.scope = horizons.scope
                and onsets.started_ms <= failures.failed_ms
                and onsets.started_ms > failures.failed_ms - horizons.horizon_ms
        ) as lead_ms
    from failures
    cross join horizons
),

recalls as (
    select
        fleets.cluster,
        horizons.scope,
        count(preceded.lead_ms) as caught_count,
        count(preceded.cluster) as n,
        median(preceded.lead_ms) as lead_ms,
        coalesce(
            sum(preceded.lost_gpu_ms) filter (where preceded.lead_ms is not null), 0
        ) as caught_gpu_ms
    from fleets
    cross join horizons
    inner join rollups.clusters as clusters on fleets.cluster = clusters.cluster
    left join preceded
        on clusters.member = preceded.cluster and horizons.scope = preceded.scope
    group by fleets.cluster, horizons.scope
),

figures as (
    select
        'warning_precision' as metric,
        cluster,
        scope,
        class as scope_value,
        cast(caught_count as double) / n as value,
        cast(caught_count as double) as numerator,
        cast(n as double) as denominator,
        n as event_count,
        'ratio' as unit
    from precisions
    union all
    select
        'warning_recall' as metric,
        cluster,
        scope,
        '' as scope_value,
        cast(caught_count as double) / nullif(n, 0) as value,
        cast(caught_count as double) as numerator,
        cast(n as double) as denominator,
        n as event_count,
        'ratio' as unit
    from recalls
    union all
    select
        'warning_lead_median_hours' as metric,
        cluster,
        scope,
        '' as scope_value,
        lead_ms / 3600000 as value,
        cast(null as double) as numerator,
        cast(null as double) as denominator,
        caught_count as event_count,
        'hours' as unit
    from recalls
    union all
    select
        'warning_caught_gpu_hours' as metric,
        cluster,
        scope,
        '' as scope_value,
        cast(caught_gpu_ms as double) / 3600000 as value,
        cast(null as double) as numerator,
        cast(null as double) as denominator,
        caught_count as event_count,
        'GPU-hours' as unit
    from recalls
)

select
    metric,
    scope,
    scope_value,
    value,
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
