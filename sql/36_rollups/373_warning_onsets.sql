-- Times that a bad condition which blocks nothing began on a node: warnings (STANDARD 5.11). Onsets of one
-- class on a node within the horizon of each other count once, as the first of them.
--
-- grain: cluster, node_uid, class, horizon, started_ms

with horizons (horizon, horizon_ms) as (
    values
    ('warning_1h', 3600000),
    ('warning_24h', 86400000)
),

warnings as (
    select
        cluster,
        node_uid,
        class,
        started_ms,
        started_ms - lag(started_ms) over (
            partition by cluster, node_uid, class
            order by started_ms
        ) as quiet_ms
    from intervals.condition_repairs
    where not is_blocking and not is_in_repair and class is not null
)

select
    warning.cluster,
    warning.node_uid,
    warning.class,
    horizons.horizon,
    horizons.horizon_ms,
    warning.started_ms
from warnings as warning
inner join horizons on coalesce(warning.quiet_ms >= horizons.horizon_ms, true)
