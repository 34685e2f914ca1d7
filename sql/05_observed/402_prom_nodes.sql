-- The nodes that names in Prometheus' labels mean, each over its life.
--
-- Names are used again: of two lives of a name, each has its own samples.
--
-- grain: cluster, node_name, node_uid

with lives as (
    select
        cluster,
        name as node_name,
        node_uid,
        max(gpus) as gpus,
        min(least(registered_at, paid_from)) as born_at,
        max(coalesce(deleted_at, paid_to)) as gone_at
    from (
        select * from raw.nodes
        union all by name
        select * from observed.nodes_kube
        union all by name
        select * from observed.nodes_prom
    )
    where name is not null
    group by cluster, name, node_uid
)

select
    cluster,
    node_name,
    node_uid,
    gpus,
    coalesce(born_at, '-infinity') as born_at,
    -- Whoever comes next under the name has taken it over.
    least(
        coalesce(gone_at, 'infinity'),
        coalesce(
            lead(born_at) over (partition by cluster, node_name order by born_at, node_uid),
            'infinity'
        )
    ) as gone_at
from lives
