-- Attempts that ended badly inside the window, counted by class, domain, team and job. Ends that
-- the owner or a plan caused are in the counts under their own class; under root_class a preemption
-- for the restart of another job counts for what broke that job (STANDARD 4.7).
--
-- grain: cluster, metric, scope, scope_value

with ended as (
    select
        clusters.cluster,
        interruptions.class,
        coalesce(interruptions.caused_by, interruptions.class) as root_class,
        interruptions.domain,
        interruptions.job,
        jobs.team
    from ledger.interruptions as interruptions
    inner join rollups.clusters as clusters on interruptions.cluster = clusters.member
    left join staged.jobs as jobs
        on interruptions.cluster = jobs.cluster and interruptions.job = jobs.job
),

scoped as (
    select cluster, 'fleet' as scope, '' as scope_value, 1 as event_count from ended
    union all
    -- A fleet without interruptions has a row all the same.
    select distinct cluster, 'fleet' as scope, '' as scope_value, 0 as event_count
    from rollups.clusters
    union all
    select cluster, 'class' as scope, class as scope_value, 1 as event_count from ended
    union all
    select cluster, 'root_class' as scope, root_class as scope_value, 1 as event_count from ended
    union all
    select cluster, 'domain' as scope, domain as scope_value, 1 as event_count from ended
    union all
    select cluster, 'team' as scope, team as scope_value, 1 as event_count from ended
    union all
    select cluster, 'job' as scope, job as scope_value, 1 as event_count
    from ended
    where cluster <> '*'
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        sum(event_count) as event_count
    from scoped
    where scope_value is not null
    group by cluster, scope, scope_value
)

select
    'interruptions' as metric,
    scope,
    scope_value,
    cast(event_count as double) as value,
    cast(null as double) as low,
    cast(null as double) as high,
    cast(null as double) as numerator,
    cast(null as double) as denominator,
    cast(event_count as bigint) as event_count,
    'count' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from sums
