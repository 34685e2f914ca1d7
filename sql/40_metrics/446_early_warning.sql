-- What warnings are worth (STANDARD 5.11): of the times that a bad condition which blocks nothing began on
-- a node in the window, how many were followed within an hour, or a day, by an interruption laid to that
-- node (warning_precision; the rest were false alarms), and how many times as often a node fails then as
-- at other times (warning_lift); of such interruptions, how many were preceded (warning_recall), how long
-- before (warning_lead_median_hours), and what those cost that left time for a checkpoint
-- (warning_caught_gpu_hours). A class has precision and lift from five onsets on; onsets that had no whole
-- horizon yet by the knowledge time are left out.
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

saves as (
    select cluster, job, median(ms_of(committed_at) - ms_of(write_started_at)) as save_ms
    from staged.checkpoints
    group by cluster, job
),

failures as (
    select
        interruption.cluster,
        interruption.node_uid,
        ms_of(interruption."at") as failed_ms,
        interruption.lost_gpu_ms,
        coalesce(saves.save_ms, 0) as save_ms
    from ledger.interruptions as interruption
    left join saves using (cluster, job)
    where interruption.domain = 'infra' and interruption.node_uid is not null
),

followed as (
    select
        onsets.cluster,
        onsets.class,
        onsets.horizon as scope,
        exists (
            select 1
            from failures
            where
                failures.cluster = onsets.cluster
                and failures.node_uid = onsets.node_uid
                and failures.failed_ms >= onsets.started_ms
                and failures.failed_ms < onsets.started_ms + onsets.horizon_ms
        ) as is_followed
    from rollups.warning_onsets as onsets
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
        failures.save_ms,
        (
            select min(failures.failed_ms - onsets.started_ms)
            from rollups.warning_onsets as onsets
            where
                onsets.cluster = failures.cluster
                and onsets.node_uid = failures.node_uid
                and onsets.horizon = horizons.scope
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
        count(*) filter (where preceded.lead_ms > preceded.save_ms) as saved_count,
        coalesce(
            sum(preceded.lost_gpu_ms) filter (where preceded.lead_ms > preceded.save_ms), 0
        ) as saved_gpu_ms
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
        ratio(caught_count, n) as value,
        caught_count as numerator,
        n as denominator,
        n as event_count,
        'ratio' as unit
    from precisions
    union all by name
    select
        'warning_lift' as metric,
        cluster,
        scope,
        scope_value,
        ratio(ratio(event_count, exposure_hours), ratio(other_count, other_hours)) as value,
        -- Per 1000 node-days.
        24000 * ratio(event_count, exposure_hours) as numerator,
        24000 * ratio(other_count, other_hours) as denominator,
        event_count,
        'times' as unit
    from rollups.rate_ratios
    where metric = 'warning_lift'
    union all by name
    select
        'warning_recall' as metric,
        cluster,
        scope,
        '' as scope_value,
        ratio(caught_count, n) as value,
        caught_count as numerator,
        n as denominator,
        n as event_count,
        'ratio' as unit
    from recalls
    union all by name
    select
        'warning_lead_median_hours' as metric,
        cluster,
        scope,
        '' as scope_value,
        lead_ms / 3600000 as value,
        caught_count as event_count,
        'hours' as unit
    from recalls
    union all by name
    select
        'warning_caught_gpu_hours' as metric,
        cluster,
        scope,
        '' as scope_value,
        saved_gpu_ms / 3600000 as value,
        saved_count as event_count,
        'GPU-hours' as unit
    from recalls
)

select * from metric_rows(figures)
