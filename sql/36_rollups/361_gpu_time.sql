-- The ledger summed over devices and time, so that no metric reads it row by row again. A lost
-- row has a cause and is not productive (STANDARD 1.8); it is attributed when that cause is known
-- and confident enough to be named (4.5). `member` is the cluster a row comes from, also under '*'.
--
-- grain: cluster, member, pool, namespace, job, attempt, state, cause, node_state, is_attributed

-- Pods of one attempt and namespace are summed together before their names are looked up.
with owners as (
    select
        held.pod_id,
        min(held.pod_id) over (
            partition by pod.cluster, pod.namespace, pod.job, pod.attempt
        ) as owner_id
    from intervals.pod_devices as held
    inner join staged.pods as pod using (cluster, pod_uid)
),

booked as (
    select
        device.cluster,
        device.pool,
        owners.owner_id,
        booking.charge_id,
        booking.node_state,
        sum(booking.unit_ms) as unit_ms
    from ledger.bookings as booking
    inner join ledger.device_groups as device using (group_id)
    left join owners using (pod_id)
    group by all
),

charged as (
    select
        booked.cluster,
        booked.pool,
        pod.namespace,
        pod.job,
        pod.attempt,
        charge.state,
        charge.cause,
        charge.cause_job,
        charge.cause_attempt,
        booked.node_state,
        booked.unit_ms
    from booked
    inner join ledger.charges as charge using (charge_id)
    left join intervals.pod_devices as held on booked.owner_id = held.pod_id
    left join staged.pods as pod on held.cluster = pod.cluster and held.pod_uid = pod.pod_uid

    union all by name

    select
        cluster,
        pool,
        'U.unlaunched' as state,
        class as cause,
        'unlaunched' as node_state,
        sum(5040 * (ended_ms - started_ms)) as unit_ms
    from ledger.unlaunched
    group by cluster, pool, class
),

cells as (
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
    from charged
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
    cells.cause is not null and cells.state not like 'A.productive.%' as is_lost,
    cells.is_attributed,
    sum(cells.unit_ms) as unit_ms
from cells
inner join rollups.clusters as clusters
    on cells.cluster = clusters.member
left join staged.jobs as jobs
    on cells.cluster = jobs.cluster and cells.job = jobs.job
group by all
