-- What is booked in the window per group of devices, state and cause.
--
-- grain: cluster, pool, node_uid, lead_gpu, state, cause

with kinds as (
    select charge_id, state, cause, dense_rank() over (order by state, cause) as kind_id
    from ledger.charges
),

-- Charges are many, states and causes few: what is summed by their number needs no names.
charged as (
    select
        booked.group_id,
        kinds.kind_id,
        sum(booked.unit_ms) as unit_ms
    from ledger.charged_shares as booked
    inner join kinds using (charge_id)
    group by booked.group_id, kinds.kind_id
)

select
    device.cluster,
    device.pool,
    device.node_uid,
    device.lead_gpu,
    kind.state,
    kind.cause,
    charged.unit_ms
from charged
inner join ledger.device_groups as device using (group_id)
inner join (select distinct kind_id, state, cause from kinds) as kind using (kind_id)

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
