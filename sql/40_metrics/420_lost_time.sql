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
    select cluster, 'class' as scope, cause as scope_value, lost_ms, unattributed_ms
    from cells
    where is_lost
    union all
    select cluster, 'domain' as scope, domain as scope_value, lost_ms, unattributed_ms
    from cells
    where is_lost
    union all
    select cluster, 'namespace' as scope, namespace as scope_value, lost_ms, unattributed_ms
    from cells
    where is_lost
    union all
    select cluster, 'team' as scope, team as scope_value, lost_ms, unattributed_ms
    from cells
    where is_lost
    union all
    select cluster, 'job' as scope, job as scope_value, lost_ms, unattributed_ms
    from cells
    where is_lost and cluster <> '*'
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

ended as (
    select
        clusters.cluster,
        interruptions.class
    from ledger.interruptions as interruptions
    inner join rollups.clusters as clusters on interruptions.cluster = clusters.member
),

interruptions as (
    select
        cluster,
        'class' as scope,
        class as scope_value,
        count(*) as event_count
    from ended
    group by cluster, class
    union all
    select
        cluster,
        'fleet' as scope,
        '' as scope_value,
        count(*) as event_count
    from ended
    group by cluster
),

wholes as (
    select
        cluster,
        unit_ms as whole
    from sums
    where scope = 'fleet'
)

select
    'lost_gpu_hours' as metric,
    sums.scope,
    sums.scope_value,
    cast(sums.unit_ms as double) / 18144000000 as value,
    cast(null as double) as low,
    cast(null as double) as high,
    cast(null as double) as numerator,
    cast(null as double) as denominator,
    case
        when sums.scope in ('class', 'fleet') then coalesce(interruptions.event_count, 0)
    end as event_count,
    'GPU-hours' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    sums.cluster
from sums
left join interruptions
    on
        sums.cluster = interruptions.cluster
        and sums.scope = interruptions.scope
        and sums.scope_value = interruptions.scope_value
union all
select
    'lost_share' as metric,
    sums.scope,
    sums.scope_value,
    cast(sums.unit_ms as double) / nullif(cast(wholes.whole as double), 0) as value,
    cast(null as double) as low,
    cast(null as double) as high,
    cast(sums.unit_ms as double) / 5040000 as numerator,
    cast(wholes.whole as double) / 5040000 as denominator,
    coalesce(interruptions.event_count, 0) as event_count,
    'ratio' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    sums.cluster
from sums
inner join wholes on sums.cluster = wholes.cluster
left join interruptions
    on
        sums.cluster = interruptions.cluster
        and sums.scope = interruptions.scope
        and sums.scope_value = interruptions.scope_value
where sums.scope = 'class'
union all
select
    'unattributed_share' as metric,
    scope,
    scope_value,
    cast(unattributed_ms as double) / nullif(cast(unit_ms as double), 0) as value,
    cast(null as double) as low,
    cast(null as double) as high,
    cast(unattributed_ms as double) / 5040000 as numerator,
    cast(unit_ms as double) / 5040000 as denominator,
    cast(null as bigint) as event_count,
    'ratio' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from sums
where scope in ('fleet', 'pool')
