-- Times that a bad condition which blocks nothing began on a node: warnings (STANDARD 5.11). Onsets of one
-- class on a node within the horizon of each other count once, as the first of them.
--
-- grain: cluster, node_uid, class, horizon, started_ms

with horizons (horizon, horizon_ms) as (
    values
    ('warning_1h', 3600000),
    ('warning_24h', 86400000)
)

select
    warning.cluster,
    warning.node_uid,
    warning.class,
    horizons.horizon,
    horizons.horizon_ms,
    warning.started_ms
from intervals.condition_repairs as warning
cross join horizons
where not warning.is_blocking and not warning.is_in_repair and warning.class is not null
qualify coalesce(
    warning.started_ms - lag(warning.started_ms) over (
        partition by warning.cluster, warning.node_uid, warning.class, horizons.horizon
        order by warning.started_ms
    ) >= horizons.horizon_ms,
    true
)
