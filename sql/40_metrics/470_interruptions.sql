-- Attempts that ended badly inside the window, counted by class, domain, team and job. Ends that
-- the owner or a plan caused are in the counts under their own class; under root_class a preemption
-- for the restart of another job counts for what broke that job (STANDARD 4.7). interruption_share is a
-- class's or domain's share of those that neither the owner nor a plan caused.
--
-- grain: cluster, metric, scope, scope_value

with ended as (
    select
        clusters.cluster,
        interruptions.class,
        coalesce(interruptions.caused_by, interruptions.class) as root_class,
        interruptions.domain,
        interruptions.job,
        jobs.team,
        interruptions.domain not in ('user', 'baseline') and taxonomy.counts_as <> 'planned'
            as is_unplanned
    from ledger.interruptions as interruptions
    inner join rollups.clusters as clusters on interruptions.cluster = clusters.member
    left join staged.jobs as jobs
        on interruptions.cluster = jobs.cluster and interruptions.job = jobs.job
    left join catalog.taxonomy as taxonomy on interruptions.class = taxonomy.class
),

scoped as (
    select
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'class', 'scope_value': class},
            {'scope': 'root_class', 'scope_value': root_class},
            {'scope': 'domain', 'scope_value': domain},
            {'scope': 'team', 'scope_value': team},
            {'scope': 'job', 'scope_value': case when cluster <> '*' then job end}
        ], recursive := true),
        1 as event_count,
        cast(is_unplanned as integer) as unplanned_count
    from ended
    union all
    -- A fleet without interruptions has a row all the same.
    select distinct cluster, 'fleet', '', 0, 0
    from rollups.clusters
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        sum(event_count) as event_count,
        sum(unplanned_count) as unplanned_count
    from scoped
    where scope_value is not null
    group by cluster, scope, scope_value
),

figures as (
    select
        'interruptions' as metric,
        cluster,
        scope,
        scope_value,
        event_count as value,
        event_count,
        'count' as unit
    from sums
    union all by name
    select
        'interruption_share' as metric,
        cluster,
        sums.scope,
        sums.scope_value,
        ratio(sums.unplanned_count, fleet.unplanned_count) as value,
        sums.unplanned_count as numerator,
        fleet.unplanned_count as denominator,
        sums.unplanned_count as event_count,
        'ratio' as unit
    from sums
    inner join sums as fleet using (cluster)
    where
        fleet.scope = 'fleet'
        and sums.scope in ('class', 'domain')
        and sums.unplanned_count > 0
)

select * from metric_rows(figures)
