-- What a later knowledge time changed, per cluster, state and cause. `earlier` and `later` are two builds
-- of one window; states that did not move are left out.

with sides as (
    select cluster, state, cause, unit_ms as earlier_unit_ms, 0 as later_unit_ms
    from earlier.ledger.gpu_time

    union all

    select cluster, state, cause, 0, unit_ms
    from later.ledger.gpu_time
)

select
    cluster,
    state,
    cause,
    sum(earlier_unit_ms) / (5040 * 3600000.0) as earlier_gpu_hours,
    sum(later_unit_ms) / (5040 * 3600000.0) as later_gpu_hours,
    (sum(later_unit_ms) - sum(earlier_unit_ms)) / (5040 * 3600000.0) as delta_gpu_hours
from sides
group by cluster, state, cause
having sum(later_unit_ms) <> sum(earlier_unit_ms)
order by abs(sum(later_unit_ms) - sum(earlier_unit_ms)) desc, cluster, state, cause
