-- The ledgers of the two halves of the window add up to the ledger of the whole [C5].
--
-- The build books both halves first, into meta.half_window_totals.
--
-- grain: row
-- severity: error

with sides as (
    select cluster, pool, node_uid, lead_gpu, state, cause, unit_ms as half_unit_ms, 0 as whole_unit_ms
    from meta.half_window_totals

    union all

    select cluster, pool, node_uid, lead_gpu, state, cause, 0, unit_ms
    from ledger.window_totals
    where exists (select 1 from meta.half_window_totals)
)

select
    cluster,
    pool,
    node_uid,
    lead_gpu,
    state,
    cause,
    sum(half_unit_ms) as half_unit_ms,
    sum(whole_unit_ms) as whole_unit_ms
from sides
group by cluster, pool, node_uid, lead_gpu, state, cause
having sum(half_unit_ms) <> sum(whole_unit_ms)
