-- Lost time: every row that has a cause and is not productive, charged to that cause (STANDARD
-- 1.8), as GPU-hours and as a share of all lost time. base.overhead is a class like the others, so
-- the shares add up to one. unattributed_share bounds every other share: lost time whose cause is
-- unknown or not confident enough to be named (4.5). event_count is the number of interruptions.
-- Under root_class the cost of a preemption for the restart of another job is that of what broke
-- that job (4.7).
--
-- grain: cluster, metric, scope, scope_value

with cells as (
    -- The fleet and its pools have a row even when they lost nothing; whatever else is named here
    -- has one only if it lost something.
    select
        cluster,
        pool,
        namespace,
        team,
        job,
        cause,
        domain,
        is_lost,
        case when is_lost then unit_ms else 0 end as lost_ms,
        case when is_lost and not is_attributed then unit_ms else 0 end as unattributed_ms
    from rollups.gpu_time
),

scoped as (
    select cluster, 'fleet' as scope, '' as scope_value, lost_ms, unattributed_ms from cells
    union all
    select cluster, 'pool' as scope, pool as scope_value, lost_ms, unattributed_ms from cells
    union all
    select
        cluster,
        unnest([
            {'scope': 'class', 'scope_value': cause},
            {'scope': 'domain', 'scope_value': domain},
            {'scope': 'namespace', 'scope_value': namespace},
            {'scope': 'team', 'scope_value': team},
            {'scope': 'job', 'scope_value': case when cluster <> '*' then job end}
        ], recursive := true),
        lost_ms,
        unattributed_ms
    from cells
    where is_lost
),

-- What such preemptions cost is moved, to the millisecond: their sum stays.
moved as (
    select
        clusters.cluster,
        unnest([interruptions.class, interruptions.caused_by]) as class,
        unnest([-5040, 5040]) * interruptions.lost_gpu_ms as unit_ms
    from ledger.interruptions as interruptions
    inner join rollups.clusters as clusters on interruptions.cluster = clusters.member
    where interruptions.caused_by is not null
),

rooted as (
    select cluster, cause as class, lost_ms as unit_ms
    from cells
    where is_lost
    union all
    select cluster, class, unit_ms from moved
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        sum(lost_ms) as unit_ms,
        sum(unattributed_ms) as unattributed_ms
    from scoped
    where scope_value is not null
    group by cluster, scope, scope_value

    union all

    select cluster, 'root_class', class, sum(unit_ms), null
    from rooted
    group by cluster, class
),

interruptions as (
    select
        clusters.cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'class', 'scope_value': interruptions.class}
        ], recursive := true)
    from ledger.interruptions as interruptions
    inner join rollups.clusters as clusters on interruptions.cluster = clusters.member
),

counts as (
    select cluster, scope, scope_value, count(*) as event_count
    from interruptions
    group by cluster, scope, scope_value
),

wholes as (
    select cluster, unit_ms as whole
    from sums
    where scope = 'fleet'
),

figures as (
    select
        'lost_gpu_hours' as metric,
        cluster,
        scope,
        scope_value,
        gpu_hours(sums.unit_ms) as value,
        case when scope in ('class', 'fleet') then coalesce(counts.event_count, 0) end as event_count,
        'GPU-hours' as unit
    from sums
    left join counts using (cluster, scope, scope_value)
    union all by name
    select
        'lost_share' as metric,
        cluster,
        scope,
        scope_value,
        ratio(sums.unit_ms, wholes.whole) as value,
        gpu_seconds(sums.unit_ms) as numerator,
        gpu_seconds(wholes.whole) as denominator,
        coalesce(counts.event_count, 0) as event_count,
        'ratio' as unit
    from sums
    inner join wholes using (cluster)
    left join counts using (cluster, scope, scope_value)
    where scope = 'class'
    union all by name
    select
        'unattributed_share' as metric,
        cluster,
        scope,
        scope_value,
        ratio(unattributed_ms, unit_ms) as value,
        gpu_seconds(unattributed_ms) as numerator,
        gpu_seconds(unit_ms) as denominator,
        'ratio' as unit
    from sums
    where scope in ('fleet', 'pool')
)

select * from metric_rows(figures)
