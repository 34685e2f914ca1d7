-- The repair ladder (STANDARD 5.4): which step ended the unplanned outages that ended inside the window
-- (the strongest repair, else a drain, a cordon, or none), and how often it held: its class did not come
-- back on that node within a day after it. jobs_spared_by_cordon counts the jobs that were at work on a
-- node when it was cordoned and not drained, and that no bad end befell before they left it.
--
-- grain: cluster, metric, scope, scope_value

with fleets as (
    select distinct cluster from rollups.clusters
),

ended as (
    select
        stage.cluster as member,
        clusters.cluster,
        stage.node_uid,
        stage.class,
        stage.step,
        stage.back_ms
    from rollups.repair_stages as stage
    inner join rollups.clusters as clusters on stage.cluster = clusters.member
    where
        stage.is_unplanned
        and stage.back_ms >= getvariable('window_start_ms')
        and stage.back_ms < getvariable('window_end_ms')
),

ladder as (
    select
        cluster,
        step,
        count(*) as n,
        sum(count(*)) over (partition by cluster) as whole
    from ended
    group by cluster, step
),

-- Only what had a day to come back by the knowledge time.
judged as (
    select
        ended.cluster,
        ended.step,
        not exists (
            select 1
            from rollups.node_outages as again
            where
                again.cluster = ended.member
                and again.node_uid = ended.node_uid
                and again.class = ended.class
                and again.started_ms >= ended.back_ms
                and again.started_ms < ended.back_ms + 86400000
        ) as is_held
    from ended
    where ended.step <> 'none' and ended.back_ms + 86400000 <= getvariable('as_of_ms')
),

cordons as (
    select
        cordon.cluster,
        cordon.node_uid,
        ms_of(cordon.started_at) as started_ms
    from staged.node_admin as cordon
    where
        cordon.kind = 'cordon'
        and cordon.started_at >= getvariable('window_start')
        and cordon.started_at < getvariable('window_end')
        and not exists (
            select 1
            from staged.node_admin as drain
            where
                drain.cluster = cordon.cluster
                and drain.node_uid = cordon.node_uid
                and drain.kind = 'drain'
                and drain.started_at < coalesce(cordon.ended_at, getvariable('as_of'))
                and coalesce(drain.ended_at > cordon.started_at, true)
        )
),

spared as (
    select
        clusters.cluster,
        count(distinct (pod.cluster, pod.job)) as n
    from cordons as cordon
    inner join staged.pods as pod
        on
            cordon.cluster = pod.cluster
            and cordon.node_uid = pod.node_uid
            and ms_of(pod.bound_at) < cordon.started_ms
            and end_ms(pod.released_at) > cordon.started_ms
    inner join intervals.lineage_attempts as attempt
        on
            pod.cluster = attempt.cluster
            and pod.job = attempt.job
            and pod.attempt = attempt.attempt
    inner join rollups.clusters as clusters on cordon.cluster = clusters.member
    where attempt.outcome = 'succeeded' or attempt.ended_ms is null
    group by clusters.cluster
),

figures as (
    select
        'repair_ladder_share' as metric,
        cluster,
        'action' as scope,
        step as scope_value,
        cast(n as double) / cast(whole as double) as value,
        n as numerator,
        whole as denominator,
        n as event_count,
        'ratio' as unit
    from ladder
    union all by name
    select
        'repair_success' as metric,
        cluster,
        'action' as scope,
        step as scope_value,
        cast(count(*) filter (where is_held) as double) / count(*) as value,
        cast(count(*) filter (where is_held) as double) as numerator,
        cast(count(*) as double) as denominator,
        count(*) as event_count,
        'ratio' as unit
    from judged
    group by cluster, step
    union all by name
    select
        'jobs_spared_by_cordon' as metric,
        fleets.cluster,
        'fleet' as scope,
        '' as scope_value,
        cast(coalesce(spared.n, 0) as double) as value,
        coalesce(spared.n, 0) as event_count,
        'count' as unit
    from fleets
    left join spared on fleets.cluster = spared.cluster
)

select * from metric_rows(figures)
