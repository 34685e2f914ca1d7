-- How much of what each metric stands on was observed, by source (STANDARD 5.14). A metric of which one
-- basis lies below its bar is shown greyed with the reason: it is doubtful, not hidden. catalog.coverage
-- says what a metric stands on, catalog.coverage_bases where the bars are. A basis of which there is
-- nothing in the window (no lost time, no health checks) has no coverage and is below no bar.
--
-- grain: cluster, metric, basis

with fleets as (
    select distinct cluster from rollups.clusters
),

booked as (
    select
        gpu_time.cluster,
        case
            when gpu_time.is_allocated and gpu_time.state not in ('A.other', 'A.standby')
                then gpu_time.unit_ms
            else 0
        end as training,
        case when gpu_time.state = 'A.unknown' then gpu_time.unit_ms else 0 end as unseen,
        case when suspect.job is null then gpu_time.unit_ms else 0 end as trusted,
        case when gpu_time.is_productive then gpu_time.unit_ms else 0 end as productive,
        case when gpu_time.state = 'A.productive.committed' then gpu_time.unit_ms else 0 end
            as committed,
        case when gpu_time.is_lost then gpu_time.unit_ms else 0 end as lost,
        case when gpu_time.is_lost and gpu_time.is_attributed then gpu_time.unit_ms else 0 end
            as attributed
    from rollups.gpu_time as gpu_time
    left join intervals.clock_suspects as suspect
        on
            gpu_time.member = suspect.cluster
            and gpu_time.job = suspect.job
            and gpu_time.attempt = suspect.attempt
),

sums as (
    select
        cluster,
        sum(training) as training,
        sum(training - unseen) as seen,
        sum(least(training, trusted)) as trusted,
        sum(productive) as productive,
        sum(committed) as committed,
        sum(lost) as lost,
        sum(attributed) as attributed
    from booked
    group by cluster
),

records as (
    select
        clusters.cluster,
        sum(attempts.gpus * piece.span_ms) filter (where not piece.is_synthetic) as observed,
        sum(attempts.gpus * piece.span_ms) as whole
    from (
        select
            attempt_id,
            is_synthetic,
            least(ended_ms, getvariable('window_end_ms'))
            - greatest(started_ms, getvariable('window_start_ms')) as span_ms
        from intervals.step_parts
    ) as piece
    inner join intervals.lineage_attempts as lineage using (attempt_id)
    inner join rollups.attempts as attempts using (cluster, job, attempt)
    inner join rollups.clusters as clusters on lineage.cluster = clusters.member
    where piece.span_ms > 0
    group by clusters.cluster
),

checks as (
    select
        clusters.cluster,
        sum(health.service_ms - (health.ok_open_ms - health.ok_closed_ms)) as observed,
        sum(health.service_ms) as whole
    from rollups.node_health as health
    semi join staged.health_check_beats as beat
        on health.cluster = beat.cluster and health.node_uid = beat.node_uid
    inner join rollups.clusters as clusters on health.cluster = clusters.member
    group by clusters.cluster
),

-- Holes of one source may overlap; a hole in any of its parts is a hole.
holes as (
    select
        cluster,
        case
            when source_name like 'kubernetes pods/log%' then 'logs'
            else split_part(source_name, ' ', 1)
        end as basis,
        greatest(ms_of(started_at), getvariable('window_start_ms')) as started_ms,
        least(end_ms(ended_at), getvariable('window_end_ms')) as ended_ms
    from staged.collector_gaps

    union all

    select
        cluster,
        'logs' as basis,
        greatest(ms_of(started_at), getvariable('window_start_ms')) as started_ms,
        least(ms_of(ended_at), getvariable('window_end_ms')) as ended_ms
    from report.log_gaps
),

reached as (
    select
        *,
        max(ended_ms) over (
            partition by cluster, basis
            order by started_ms, ended_ms
            rows between unbounded preceding and 1 preceding
        ) as reach_ms
    from holes
    where ended_ms > started_ms
),

blind as (
    select
        cluster,
        basis,
        sum(greatest(0, ended_ms - greatest(started_ms, coalesce(reach_ms, started_ms)))) as blind_ms
    from reached
    group by cluster, basis
),

-- All clusters together saw as much as each of them on the average.
looks as (
    select
        clusters.cluster,
        sources.basis,
        sum(case
            when sources.basis = 'events' then coalesce(sight.seen_ms, 0)
            else window_ms.length - coalesce(blind.blind_ms, 0)
        end) as observed,
        sum(window_ms.length) as whole
    from rollups.clusters as clusters
    cross join (values ('kubernetes'), ('events'), ('prometheus'), ('logs')) as sources (basis)
    cross join (
        select getvariable('window_end_ms') - getvariable('window_start_ms') as length
    ) as window_ms
    left join blind on clusters.member = blind.cluster and sources.basis = blind.basis
    left join rollups.event_sight as sight on clusters.member = sight.cluster
    group by clusters.cluster, sources.basis
),

prices as (
    select cluster, numerator as observed, denominator as whole
    from metrics.money
    where metric = 'priced_share'
),

amounts as (
    select
        cluster,
        'steps' as basis,
        cast(seen as double) / 18144000000 as observed,
        cast(training as double) / 18144000000 as whole
    from sums
    union all
    select
        cluster,
        'clocks',
        cast(trusted as double) / 18144000000,
        cast(training as double) / 18144000000
    from sums
    union all
    select
        cluster,
        'durable',
        cast(committed as double) / 18144000000,
        cast(productive as double) / 18144000000
    from sums
    union all
    select
        cluster,
        'attribution',
        cast(attributed as double) / 18144000000,
        cast(lost as double) / 18144000000
    from sums
    union all
    select
        cluster, 'records', cast(observed as double) / 3600000, cast(whole as double) / 3600000
    from records
    union all
    select cluster, 'checks', cast(observed as double) / 3600000, cast(whole as double) / 3600000
    from checks
    union all
    select cluster, basis, cast(observed as double) / 3600000, cast(whole as double) / 3600000
    from looks
    union all
    select cluster, 'prices', observed / 3600, whole / 3600
    from prices
)

select
    fleets.cluster,
    coverage.metric,
    coverage.basis,
    coalesce(amounts.observed, 0) as observed,
    coalesce(amounts.whole, 0) as whole,
    bases.unit,
    amounts.observed / nullif(amounts.whole, 0) as coverage,
    bases.bar,
    coalesce(amounts.observed / nullif(amounts.whole, 0) < bases.bar, false) as is_below,
    case when amounts.observed / nullif(amounts.whole, 0) < bases.bar then bases.reason end
        as reason,
    bases.definition
from fleets
cross join catalog.coverage as coverage
inner join catalog.coverage_bases as bases on coverage.basis = bases.basis
left join amounts
    on fleets.cluster = amounts.cluster and coverage.basis = amounts.basis
