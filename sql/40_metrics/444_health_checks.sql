-- What the health checks are worth (STANDARD 5.10). check_coverage is the service time of nodes in which
-- all their required checks were fresh, over all service time; nodes without any required check are
-- not covered. check_silence_p95_hours is the 95th percentile of a check's silences beyond its bound,
-- those that go on at their length so far, event_count their number. escape_rate is the share of the
-- interruptions laid to a node of which no bad condition of that node told, up to the end of the attempt.
--
-- grain: cluster, metric, scope, scope_value

with fleets as (
    select distinct cluster from rollups.clusters
),

nodes as (
    select
        clusters.cluster,
        health.pool,
        health.service_ms,
        case
            when checked.node_uid is not null
                then health.service_ms - (health.ok_open_ms - health.ok_closed_ms)
            else 0
        end as fresh_ms
    from rollups.node_health as health
    inner join rollups.clusters as clusters on health.cluster = clusters.member
    left join (
        select distinct cluster, node_uid from staged.health_check_beats
    ) as checked
        on health.cluster = checked.cluster and health.node_uid = checked.node_uid
),

coverage as (
    select
        cluster,
        'fleet' as scope,
        '' as scope_value,
        sum(fresh_ms) as fresh_ms,
        sum(service_ms) as service_ms,
        count(*) as n
    from nodes
    group by cluster
    union all
    select cluster, 'pool', pool, sum(fresh_ms), sum(service_ms), count(*)
    from nodes
    where pool is not null
    group by cluster, pool
),

silences as (
    select
        clusters.cluster,
        span.check_name,
        least(
            span.ended_ms,
            end_ms(least(node.deleted_at, node.paid_to)),
            getvariable('window_end_ms'),
            getvariable('as_of_ms')
        ) - greatest(span.started_ms, getvariable('window_start_ms')) as span_ms
    from intervals.stale_spans as span
    inner join staged.nodes as node
        on span.cluster = node.cluster and span.node_uid = node.node_uid
    inner join rollups.clusters as clusters on span.cluster = clusters.member
    where
        span.started_ms < least(getvariable('window_end_ms'), getvariable('as_of_ms'))
        -- A node that is gone is not silent.
        and span.started_ms < end_ms(least(node.deleted_at, node.paid_to))
        and span.ended_ms > getvariable('window_start_ms')
),

failures as (
    select
        clusters.cluster,
        exists (
            select 1
            from intervals.condition_repairs as condition
            where
                condition.cluster = interruption.cluster
                and condition.node_uid = interruption.node_uid
                and condition.started_ms <= ms_of(interruption."at")
                and condition.ended_ms
                > ms_of(interruption."at") - 1000 * getvariable('attrib_before_s')
        ) as is_told
    from ledger.interruptions as interruption
    inner join rollups.clusters as clusters on interruption.cluster = clusters.member
    where interruption.domain = 'infra' and interruption.node_uid is not null
),

escapes as (
    select
        fleets.cluster,
        count(*) filter (where not failures.is_told) as escape_count,
        count(failures.cluster) as n
    from fleets
    left join failures on fleets.cluster = failures.cluster
    group by fleets.cluster
),

figures as (
    select
        'check_coverage' as metric,
        cluster,
        scope,
        scope_value,
        ratio(fresh_ms, service_ms) as value,
        cast(fresh_ms as double) / 1000 as numerator,
        cast(service_ms as double) / 1000 as denominator,
        n as event_count,
        'ratio' as unit
    from coverage
    union all by name
    select
        'check_silence_p95_hours' as metric,
        cluster,
        'check' as scope,
        check_name as scope_value,
        quantile_cont(span_ms, 0.95) / 3600000 as value,
        count(*) as event_count,
        'hours' as unit
    from silences
    group by cluster, check_name
    union all by name
    select
        'escape_rate' as metric,
        cluster,
        'fleet' as scope,
        '' as scope_value,
        ratio(escape_count, n) as value,
        escape_count as numerator,
        n as denominator,
        n as event_count,
        'ratio' as unit
    from escapes
)

select * from metric_rows(figures)
