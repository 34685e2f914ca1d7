-- The node-state dimension sums to the same paid time, whatever jobs did [C8].
--
-- grain: row
-- severity: error

with sides as (
    select
        cluster,
        node_uid,
        gpu,
        sum(5040 * (ended_ms - started_ms)) as health_unit_ms,
        0 as ledger_unit_ms
    from ledger.device_health
    group by cluster, node_uid, gpu

    union all

    select cluster, node_uid, gpu, 0, sum(unit_ms)
    from ledger.gpu_time
    where node_uid is not null
    group by cluster, node_uid, gpu
)

select
    cluster,
    node_uid,
    gpu,
    sum(health_unit_ms) as health_unit_ms,
    sum(ledger_unit_ms) as ledger_unit_ms
from sides
group by cluster, node_uid, gpu
having sum(health_unit_ms) <> sum(ledger_unit_ms)
