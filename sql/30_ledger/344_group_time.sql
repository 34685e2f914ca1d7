-- The ledger with one row for a group of devices that shared one fate, and names for its numbers.
--
-- unit_ms = units × milliseconds over all devices of the group. A committed GPU that was never
-- launched is a group by itself. ledger.gpu_time tells what the columns mean.
--
-- grain: cluster, pool, node_uid, lead_gpu, started_at, pod_uid
-- kind: view

with everything as (
    select
        booking.*,
        device.cluster,
        device.node_uid,
        device.node_name,
        device.pool,
        device.lead_gpu,
        device.gpus,
        charge.state,
        charge.cause,
        charge.cause_job,
        charge.cause_attempt
    from ledger.bookings as booking
    inner join ledger.device_groups as device using (group_id)
    inner join ledger.charges as charge using (charge_id)

    union all by name

    select
        cluster,
        pool,
        gpu as lead_gpu,
        [gpu] as gpus,
        started_ms,
        ended_ms,
        5040 * (ended_ms - started_ms) as unit_ms,
        'U.unlaunched' as state,
        class as cause,
        'unlaunched' as node_state
    from ledger.unlaunched
),

-- Slow steps are charged to nobody's end; how sure their cause is, the segments tell [3.5].
slow as (
    select cluster, job, attempt, class, min(confidence) as confidence
    from intervals.slow_segments
    group by cluster, job, attempt, class
)

select
    entry.cluster,
    entry.node_uid,
    entry.node_name,
    entry.pool,
    entry.lead_gpu,
    entry.gpus,
    instant_of(entry.started_ms) as started_at,
    instant_of(entry.ended_ms) as ended_at,
    entry.unit_ms,
    entry.state,
    entry.cause,
    taxonomy.domain,
    entry.node_state,
    pod.job,
    pod.attempt,
    pod.namespace,
    pod.pod_uid,
    entry.cause_job,
    entry.cause_attempt,
    instant_of(entry.outage_started_ms) as outage_started_at,
    coalesce(attribution.confidence, slow.confidence) as confidence
from everything as entry
left join intervals.pod_devices as held using (pod_id)
left join staged.pods as pod on held.cluster = pod.cluster and held.pod_uid = pod.pod_uid
left join catalog.taxonomy as taxonomy on entry.cause = taxonomy.class
left join intervals.attribution as attribution
    on
        entry.cluster = attribution.cluster
        and entry.cause_job = attribution.job
        and entry.cause_attempt = attribution.attempt
left join slow
    on
        entry.state = 'A.slow'
        and entry.cluster = slow.cluster
        and pod.job = slow.job
        and pod.attempt = slow.attempt
        and entry.cause = slow.class
