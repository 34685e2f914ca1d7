-- What is booked in the window per group of devices, state and cause.
--
-- grain: cluster, pool, node_uid, lead_gpu, state, cause

with charged as (
    select group_id, charge_id, sum(unit_ms) as unit_ms
    from ledger.charged_shares
    group by group_id, charge_id
)

select
    device.cluster,
    device.pool,
    device.node_uid,
    device.lead_gpu,
    charge.state,
    charge.cause,
    sum(charged.unit_ms) as unit_ms
from charged
inner join ledger.device_groups as device using (group_id)
inner join ledger.charges as charge using (charge_id)
group by
    device.cluster, device.pool, device.node_uid, device.lead_gpu, charge.state, charge.cause

union all

select
    cluster,
    pool,
    null,
    gpu,
    'U.unlaunched',
    class,
    sum(5040 * (ended_ms - started_ms))
from ledger.unlaunched
group by cluster, pool, gpu, class
