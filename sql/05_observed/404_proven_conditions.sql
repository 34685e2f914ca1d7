-- Spans over which other sources than Prometheus prove what a node's condition was.
--
-- The API server proves a status from its transition to the last sighting: nothing happened in between,
-- or the transition would be another. What was imported for a node and type is the word on it for ever.
--
-- grain: cluster, node_uid, type, started_at

with seen as (
    select cluster, node_uid, last_seen_at, unnest(conditions) as condition
    from observed.node_versions
    where not is_deleted
),

spans as (
    select
        cluster,
        node_uid,
        condition.type as type,
        condition."lastTransitionTime" as started_at,
        max(last_seen_at) as ended_at
    from seen
    where condition.type is not null and condition."lastTransitionTime" is not null
    group by all

    union all

    select
        cluster,
        node_uid,
        type,
        cast('-infinity' as timestamptz),
        cast('infinity' as timestamptz)
    from (
        select cluster, node_uid, type from raw.node_conditions where gpu is null
        union
        select cluster, node_uid, type from raw.node_condition_events where gpu is null
    )
)

select cluster, node_uid, type, started_at, max(greatest(ended_at, started_at)) as ended_at
from spans
group by cluster, node_uid, type, started_at
