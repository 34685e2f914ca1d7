-- Bad conditions of nodes and devices as intervals: given ones, and those built from transitions [0.4].
--
-- A transition lasts until the next one of the same node, device and type; empty ones are dropped, and
-- so are those, nearly all, that say that all is well.
--
-- grain: row

with transitions as (
    select distinct
        cluster,
        node_uid,
        gpu,
        type,
        status,
        coalesce(reason, '') as reason,
        class,
        t,
        coalesce(rv, 0) as rv
    from gathered.node_condition_events
    where t <= getvariable('as_of')
),

built as (
    select
        * exclude (t, rv),
        t as started_at,
        lead(t) over (
            partition by cluster, node_uid, gpu, type
            order by t, rv, status, reason, class nulls first
        ) as ended_at
    from transitions
),

given as (
    select distinct
        cluster,
        node_uid,
        gpu,
        type,
        status,
        coalesce(reason, '') as reason,
        class,
        blocking,
        degrade,
        "from" as started_at,
        "to" as ended_at
    from gathered.node_conditions
    where "from" <= getvariable('as_of') and is_bad_condition(type, status)
)

select
    cluster,
    node_uid,
    gpu,
    type,
    status,
    reason,
    class,
    blocking,
    degrade,
    started_at,
    known(ended_at) as ended_at
from given

union all by name

select cluster, node_uid, gpu, type, status, reason, class, started_at, ended_at
from built
where (ended_at is null or ended_at > started_at) and is_bad_condition(type, status)
