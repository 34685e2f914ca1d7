-- Every paid device is booked 5040 units at every instant: no gap and no overlap [C1].
--
-- grain: row
-- severity: error

with changes as (
    select
        cluster,
        node_uid,
        gpu,
        unnest([epoch_ms(started_at), epoch_ms(ended_at)]) as changed_ms,
        unnest([
            unit_ms // (epoch_ms(ended_at) - epoch_ms(started_at)),
            -(unit_ms // (epoch_ms(ended_at) - epoch_ms(started_at)))
        ]) as unit_change
    from ledger.gpu_time
    where node_uid is not null

    union all

    select cluster, node_uid, gpu, unnest([started_ms, ended_ms]), unnest([-5040, 5040])
    from ledger.devices
),

summed as (
    select cluster, node_uid, gpu, changed_ms, sum(unit_change) as unit_change
    from changes
    group by cluster, node_uid, gpu, changed_ms
),

balanced as (
    select
        cluster,
        node_uid,
        gpu,
        changed_ms,
        sum(unit_change) over (
            partition by cluster, node_uid, gpu
            order by changed_ms
        ) as excess_units
    from summed
)

select cluster, node_uid, gpu, instant_of(changed_ms) as changed_at, excess_units
from balanced
where excess_units <> 0
