-- The ledger summed over devices and time, so that no metric reads it row by row again. A lost
-- row has a cause and is not productive (STANDARD 1.8); it is attributed when that cause is known
-- and confident enough to be named (4.5). `member` is the cluster a row comes from, also under '*'.
--
-- grain: cluster, member, pool, namespace, job, attempt, state, cause, node_state, is_attributed

with cells as (
    select
        charged.cluster,
        charged.pool,
        charged.namespace,
        charged.job,
        charged.attempt,
        charged.state,
        charged.cause,
        taxonomy.domain,
        charged.node_state,
        coalesce(
            taxonomy.domain <> 'unknown'
            and (
                attribution.confidence is null
                or attribution.confidence >= getvariable('report_conf')
            ),
            false
        ) as is_attributed,
        sum(charged.unit_ms) as unit_ms
    from rollups.charged_time as charged
    left join catalog.taxonomy as taxonomy on charged.cause = taxonomy.class
    left join intervals.attribution as attribution
        on
            charged.cluster = attribution.cluster
            and charged.cause_job = attribution.job
            and charged.cause_attempt = attribution.attempt
    group by all
)

select
    clusters.cluster,
    clusters.member,
    cells.pool,
    cells.namespace,
    jobs.team,
    cells.job,
    cells.attempt,
    cells.state,
    cells.cause,
    cells.domain,
    cells.node_state,
    cells.state like 'A.%' as is_allocated,
    cells.state like 'A.%' or cells.state like 'I.%' as is_available,
    cells.state like 'A.productive.%' as is_productive,
    is_loss(cells.state, cells.cause) as is_lost,
    cells.is_attributed,
    sum(cells.unit_ms) as unit_ms
from cells
inner join rollups.clusters as clusters
    on cells.cluster = clusters.member
left join staged.jobs as jobs
    on cells.cluster = jobs.cluster and cells.job = jobs.job
group by all
