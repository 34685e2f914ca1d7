-- Median and 90th percentile of the spans of rollups.waits, read off rollups.survival: the first
-- length that no more than the rest outlast, and the 95 % interval from where its band crosses the
-- same height. Null where too few ended to tell. cut_count is how many were censored.
--
-- grain: cluster, measure, scope, scope_value, probability

with counted as (
    select
        cluster,
        measure,
        scope,
        scope_value,
        count(*) filter (where is_event) as event_count,
        count(*) filter (where not is_event) as cut_count
    from rollups.waits
    group by cluster, measure, scope, scope_value
)

select
    counted.cluster,
    counted.measure,
    counted.scope,
    counted.scope_value,
    quantile.probability,
    counted.event_count,
    counted.cut_count,
    -- Products of fractions are not exact.
    min(curve.span_ms) filter (where curve.survival <= 1 - quantile.probability + 1e-12) as span_ms,
    min(curve.span_ms) filter (
        where coalesce(curve.low, curve.survival) <= 1 - quantile.probability + 1e-12
    ) as low_ms,
    min(curve.span_ms) filter (where curve.high <= 1 - quantile.probability + 1e-12) as high_ms
from counted
cross join (values (cast(0.5 as double)), (cast(0.9 as double))) as quantile (probability)
left join rollups.survival as curve
    on
        counted.cluster = curve.cluster
        and counted.measure = curve.measure
        and counted.scope = curve.scope
        and counted.scope_value = curve.scope_value
group by all
