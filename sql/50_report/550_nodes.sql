-- Every node with what it cost: GPU time while it was not usable, its outages, and the work lost in
-- interruptions whose evidence points at it.
--
-- grain: cluster, node_uid

with paid as (
    select
        gpu_time.cluster,
        gpu_time.node_uid,
        min(gpu_time.pool) as pool,
        sum(gpu_time.unit_ms) as unit_ms,
        sum(case when states.state_group = 'unavailable' then gpu_time.unit_ms else 0 end)
            as unavailable_unit_ms,
        sum(case when states.state_group = 'productive' then gpu_time.unit_ms else 0 end)
            as productive_unit_ms
    from ledger.window_totals as gpu_time
    left join catalog.states as states on gpu_time.state = states.state
    where gpu_time.node_uid is not null
    group by gpu_time.cluster, gpu_time.node_uid
),

sizes as (
    select cluster, node_uid, min(node_name) as node_name, sum(len(gpus)) as gpu_count
    from ledger.device_groups
    group by cluster, node_uid
),

out_of_service as (
    select
        cluster,
        node_uid,
        class,
        planned
    from rollups.node_outages
    where
        not is_birth
        and started_ms < getvariable('window_end_ms')
        and coalesce(ended_ms, getvariable('window_end_ms')) > getvariable('window_start_ms')
),

outages as (
    select
        cluster,
        node_uid,
        count(*) as outage_count,
        count(*) filter (where planned) as planned_outage_count
    from out_of_service
    group by cluster, node_uid
),

stopped as (
    select
        cluster,
        node_uid,
        count(*) as interruption_count,
        sum(lost_gpu_ms) as lost_gpu_ms
    from ledger.interruptions
    where node_uid is not null
    group by cluster, node_uid
),

named as (
    select cluster, node_uid, class from out_of_service
    union all
    select cluster, node_uid, class from ledger.interruptions where node_uid is not null
),

counted as (
    select
        cluster,
        node_uid,
        class,
        count(*) as event_count
    from named
    where class is not null and class <> 'base.overhead'
    group by cluster, node_uid, class
),

classes as (
    select
        cluster,
        node_uid,
        list(class order by event_count desc, class) as classes
    from counted
    group by cluster, node_uid
)

select
    paid.cluster,
    paid.node_uid,
    sizes.node_name,
    paid.pool,
    sizes.gpu_count,
    paid.unit_ms / 5040 / 3600000 as gpu_hours,
    paid.productive_unit_ms / 5040 / 3600000 as productive_gpu_hours,
    paid.unavailable_unit_ms / 5040 / 3600000 as unavailable_gpu_hours,
    coalesce(stopped.lost_gpu_ms, 0) / 3600000 as interrupted_gpu_hours,
    (paid.unavailable_unit_ms / 5040 + coalesce(stopped.lost_gpu_ms, 0)) / 3600000
        as cost_gpu_hours,
    coalesce(health.service_ms, 0) / 3600000 as in_service_hours,
    coalesce(health.service_ms - health.ok_closed_ms, 0) / 3600000 as not_ok_hours,
    health.ok_closed_ms / nullif(health.service_ms, 0) as availability_closed,
    coalesce(outages.outage_count, 0) as outage_count,
    coalesce(outages.planned_outage_count, 0) as planned_outage_count,
    coalesce(stopped.interruption_count, 0) as interruption_count,
    coalesce(classes.classes, []) as classes
from paid
inner join sizes on paid.cluster = sizes.cluster and paid.node_uid = sizes.node_uid
left join rollups.node_health as health
    on paid.cluster = health.cluster and paid.node_uid = health.node_uid
left join outages on paid.cluster = outages.cluster and paid.node_uid = outages.node_uid
left join stopped on paid.cluster = stopped.cluster and paid.node_uid = stopped.node_uid
left join classes on paid.cluster = classes.cluster and paid.node_uid = classes.node_uid
