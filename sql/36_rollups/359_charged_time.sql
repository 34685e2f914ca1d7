-- The ledger summed over devices and time, with the end that each state is charged to.
--
-- grain: cluster, pool, namespace, job, attempt, state, cause, cause_job, cause_attempt, node_state

-- Pods of one attempt and namespace are summed together before their names are looked up.
with owners as (
    select
        pod.namespace,
        pod.job,
        pod.attempt,
        min(held.pod_id) as owner_id,
        list(held.pod_id) as pod_ids
    from intervals.pod_devices as held
    inner join staged.pods as pod using (cluster, pod_uid)
    group by pod.cluster, pod.namespace, pod.job, pod.attempt
),

owned as (
    select owner_id, unnest(pod_ids) as pod_id
    from owners
),

booked as (
    select
        device.cluster,
        device.pool,
        owned.owner_id,
        booking.charge_id,
        booking.node_state,
        sum(booking.unit_ms) as unit_ms
    from ledger.charged_shares as booking
    inner join ledger.device_groups as device using (group_id)
    left join owned using (pod_id)
    group by all
)

select
    booked.cluster,
    booked.pool,
    owners.namespace,
    owners.job,
    owners.attempt,
    charge.state,
    charge.cause,
    charge.cause_job,
    charge.cause_attempt,
    booked.node_state,
    booked.unit_ms
from booked
inner join ledger.charges as charge using (charge_id)
left join owners using (owner_id)

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
