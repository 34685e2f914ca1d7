-- Nodes in their newest known version, with the span they are paid for.
--
-- grain: cluster, node_uid

with newest as (
    select *
    from gathered.nodes
    qualify row_number() over (
        partition by cluster, node_uid
        order by ingested_at desc nulls last, run_id desc nulls last, row_id desc nulls last
    ) = 1
)

select
    cluster,
    node_uid,
    coalesce(name, node_uid) as name,
    coalesce(pool, 'default') as pool,
    gpus,
    coalesce(registered_at, paid_from) as registered_at,
    known(coalesce(ready_at, registered_at, paid_from)) as ready_at,
    known(deleted_at) as deleted_at,
    coalesce(paid_from, registered_at) as paid_from,
    coalesce(known(paid_to), known(deleted_at)) as paid_to,
    known_class(replaces_cause) as replaces_cause,
    instance_type,
    gpu_model,
    topology
from newest
