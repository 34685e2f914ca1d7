-- The ledger summed over devices and time, with the end that each state is charged to.
--
-- grain: cluster, pool, namespace, job, attempt, state, cause, cause_job, cause_attempt, node_state

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
    from ledger.charged_shares as booking
    inner join ledger.device_groups as device using (group_id)
    left join owners using (pod_id)
    group by all
)

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
