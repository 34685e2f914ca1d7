-- Node conditions as Prometheus saw them, where no better source proves them; lost and throttled GPUs.
--
-- Three series a condition, one of which is 1, make its status. A hole is not in it: what was bad before is
-- not bad in the hole, and health_checks_prom says that nobody looked. Where the API server or an
-- import proves the condition of a node, that goes, so that nothing is counted twice; what only repeats
-- the API server's last word until its next one is no transition. Fewer allocatable GPUs than the node
-- has are lost ones, as in node_conditions_kube; none at all says nothing.
--
-- grain: row

with sampled as (
    select
        cluster,
        node_uid,
        labels ->> '$.condition' as type,
        case value when 'true' then 'True' when 'false' then 'False' else 'Unknown' end as status,
        started_at,
        ended_at,
        ingested_at,
        ingested_from
    from observed.prom_node_runs
    where query = 'node_condition' and labels ->> '$.condition' is not null
),

edges as (
    select
        cluster,
        node_uid,
        type,
        started_at,
        max(ended_at) over (
            partition by cluster, node_uid, type order by started_at
        ) as proven_until
    from observed.proven_conditions
),

-- What lies between the proven spans, before the first and after the last.
unproven as (
    select
        cluster,
        node_uid,
        type,
        coalesce(
            lag(proven_until) over (partition by cluster, node_uid, type order by started_at),
            '-infinity'
        ) as free_from,
        started_at as free_to
    from edges

    union all

    select cluster, node_uid, type, max(proven_until), cast('infinity' as timestamptz)
    from edges
    group by cluster, node_uid, type

    union all

    select distinct
        cluster,
        node_uid,
        type,
        cast('-infinity' as timestamptz),
        cast('infinity' as timestamptz)
    from sampled
    anti join edges using (cluster, node_uid, type)
),

conditions as (
    select
        sampled.cluster,
        sampled.node_uid,
        cast(null as integer) as gpu,
        sampled.type,
        sampled.status,
        cast(null as varchar) as reason,
        greatest(sampled.started_at, unproven.free_from) as started_at,
        case
            when coalesce(sampled.ended_at, 'infinity') <= unproven.free_to then sampled.ended_at
            else unproven.free_to
        end as ended_at,
        sampled.ingested_at,
        sampled.ingested_from
    from sampled
    inner join unproven using (cluster, node_uid, type)
    where
        unproven.free_to > sampled.started_at
        and unproven.free_from < coalesce(sampled.ended_at, 'infinity')
),

told as (
    select
        cluster,
        node_uid,
        type,
        status,
        t as started_at,
        lead(t) over (partition by cluster, node_uid, type order by t, rv) as ended_at
    from observed.node_condition_events_kube
),

news as (
    select conditions.*
    from conditions
    where
        not exists (
            select 1
            from told
            where
                conditions.cluster = told.cluster
                and conditions.node_uid = told.node_uid
                and conditions.type = told.type
                and conditions.status = told.status
                and told.started_at <= conditions.started_at
                and coalesce(told.ended_at, 'infinity')
                >= coalesce(conditions.ended_at, 'infinity')
        )
),

reasons as (
    select *
    from (
        values
        (cast(96 as bigint), 'GpuThermalThrottle'),
        (cast(128 as bigint), 'GpuPowerBrake')
    ) as reason (bits, type)
),

throttled as (
    select
        run.cluster,
        run.node_uid,
        run.gpu,
        reasons.type,
        case
            when try_cast(try_cast(run.value as double) as bigint) & reasons.bits > 0 then 'True'
            else 'False'
        end as status,
        'DcgmClocksEventReasons' as reason,
        run.started_at,
        run.ended_at,
        run.ingested_at,
        run.ingested_from
    from observed.prom_node_runs as run
    cross join reasons
    where run.query = 'gpu_throttle' and run.gpu is not null
),

lost as (
    select
        cluster,
        node_uid,
        cast(unnest(range(cast(try_cast(value as double) as bigint), gpus)) as integer) as gpu,
        'DevicePluginUnhealthy' as type,
        'True' as status,
        'AllocatableBelowCapacity' as reason,
        started_at,
        ended_at,
        ingested_at,
        ingested_from
    from observed.prom_node_runs
    where
        query = 'node_gpus_allocatable'
        and labels ->> '$.resource' in ('nvidia_com_gpu', 'amd_com_gpu', 'habana_ai_gaudi')
        and try_cast(value as double) between 1 and gpus - 1
),

unknown_losses as (
    select lost.*
    from lost
    where
        not exists (
            select 1
            from observed.node_conditions_kube as known
            where
                lost.cluster = known.cluster
                and lost.node_uid = known.node_uid
                and lost.gpu = known.gpu
                and lost.type = known.type
                and known."from" < coalesce(lost.ended_at, 'infinity')
                and coalesce(known."to", 'infinity') > lost.started_at
        )
),

together as (
    select * from news
    union all
    select * from throttled
    union all
    select * from unknown_losses
)

select
    cluster,
    node_uid,
    gpu,
    type,
    status,
    reason,
    started_at as "from",
    ended_at as "to",
    case when type = 'DevicePluginUnhealthy' then 'gpu.lost' end as class,
    ingested_at,
    ingested_from
from together
where ended_at is null or ended_at > started_at
