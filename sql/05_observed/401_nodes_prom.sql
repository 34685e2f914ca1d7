-- Nodes of clusters of which only Prometheus tells: from the first to the last sample of their GPUs.
--
-- A label has no more than a name, so that is their identity. A node is gone when its samples end while
-- others go on. Its GPUs are the most it ever had: a device plugin that restarts shows none.
--
-- grain: cluster, node_uid
-- nothing without: raw.prom_states

with sampled as (
    select
        cluster,
        labels ->> '$.node' as name,
        max(try_cast(value as double)) as gpus,
        min("from") as registered_at,
        max(last_at) as last_at,
        max(interval_ms) as interval_ms,
        min(ingested_at) as ingested_at,
        min(ingested_from) as ingested_from
    from raw.prom_states
    where
        query in ('node_gpus_capacity', 'node_gpus_allocatable')
        and labels ->> '$.resource' in ('nvidia_com_gpu', 'amd_com_gpu', 'habana_ai_gaudi')
    group by cluster, labels ->> '$.node'
),

known as (
    select cluster from observed.nodes_kube
    union
    select cluster from raw.nodes
)

select
    sampled.cluster,
    sampled.name as node_uid,
    sampled.name,
    cast(sampled.gpus as integer) as gpus,
    sampled.registered_at,
    sampled.registered_at as ready_at,
    case
        when
            max(sampled.last_at) over (partition by sampled.cluster) - sampled.last_at
            > to_milliseconds(cast(2.5 * sampled.interval_ms as bigint))
            then sampled.last_at
    end as deleted_at,
    sampled.registered_at as paid_from,
    sampled.ingested_at,
    sampled.ingested_from
from sampled
anti join known using (cluster)
where sampled.name is not null and sampled.gpus between 1 and 16384
