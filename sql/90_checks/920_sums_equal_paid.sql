-- The ledger of each node, each pool and each cluster sums to what was paid, to the unit [C1].
--
-- Paid is taken from the nodes and commitments themselves, not from the ledger's own devices.
--
-- grain: row
-- severity: error

with paid as (
    select
        cluster,
        pool,
        node_uid,
        5040 * gpus * (
            least(end_ms(paid_to), getvariable('window_end_ms'))
            - greatest(ms_of(paid_from), getvariable('window_start_ms'))
        ) as paid_unit_ms
    from staged.nodes
    where
        least(end_ms(paid_to), getvariable('window_end_ms'))
        > greatest(ms_of(paid_from), getvariable('window_start_ms'))

    union all

    select cluster, pool, null, sum(5040 * (ended_ms - started_ms))
    from ledger.unlaunched
    group by cluster, pool
),

sides as (
    select cluster, pool, node_uid, paid_unit_ms, 0 as booked_unit_ms
    from paid
    union all
    select cluster, pool, node_uid, 0, unit_ms
    from ledger.window_totals
)

select
    cluster,
    pool,
    node_uid,
    sum(paid_unit_ms) as paid_unit_ms,
    sum(booked_unit_ms) as booked_unit_ms
from sides
group by grouping sets ((cluster), (cluster, pool), (cluster, pool, node_uid))
having sum(paid_unit_ms) <> sum(booked_unit_ms)
