-- Availability (STANDARD 5.2): time fit for work over time in service. closed counts a node whose
-- required check is silent as unfit, open ignores silence, sched asks whether it would take a pod;
-- node_availability_unplanned leaves planned maintenance out of both sides. Node-weighted ratios
-- have node-seconds underneath, device-weighted ones device-seconds; event_count is the number of
-- nodes. The budget is what catalog.objectives allows, in node-hours, and what was burnt of it.
--
-- grain: cluster, metric, scope, scope_value

with nodes as (
    select
        clusters.cluster,
        node_health.* exclude (cluster),
        hardware.instance_type,
        hardware.gpu_model
    from rollups.node_health as node_health
    inner join rollups.clusters as clusters on node_health.cluster = clusters.member
    left join staged.nodes as hardware
        on node_health.cluster = hardware.cluster and node_health.node_uid = hardware.node_uid
),

scoped as (
    select cluster, 'fleet' as scope, '' as scope_value, nodes.* exclude (cluster) from nodes
    union all
    select cluster, 'pool' as scope, pool as scope_value, nodes.* exclude (cluster)
    from nodes
    where pool is not null
    union all
    select
        cluster, 'instance_type' as scope, instance_type as scope_value, nodes.* exclude (cluster)
    from nodes
    where instance_type is not null
    union all
    select cluster, 'gpu_model' as scope, gpu_model as scope_value, nodes.* exclude (cluster)
    from nodes
    where gpu_model is not null
    union all
    select cluster, 'node' as scope, node_uid as scope_value, nodes.* exclude (cluster)
    from nodes
    where cluster <> '*'
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        count(*) as node_count,
        sum(service_ms) as service_ms,
        sum(ok_closed_ms) as ok_closed_ms,
        sum(ok_open_ms) as ok_open_ms,
        sum(schedulable_ms) as schedulable_ms,
        sum(unplanned_service_ms) as unplanned_service_ms,
        sum(unplanned_ok_ms) as unplanned_ok_ms,
        sum(device_service_ms) as device_service_ms,
        sum(device_ok_closed_ms) as device_ok_closed_ms,
        sum(device_ok_open_ms) as device_ok_open_ms
    from scoped
    group by cluster, scope, scope_value
),

ratios as (
    select 'node_availability_closed' as metric, sums.*, ok_closed_ms as part, service_ms as whole
    from sums
    union all
    select 'node_availability_open' as metric, sums.*, ok_open_ms as part, service_ms as whole
    from sums
    union all
    select 'node_availability_sched' as metric, sums.*, schedulable_ms as part, service_ms as whole
    from sums
    union all
    select
        'node_availability_unplanned' as metric, sums.*,
        unplanned_ok_ms as part, unplanned_service_ms as whole
    from sums
    union all
    select
        'device_availability_closed' as metric, sums.*,
        device_ok_closed_ms as part, device_service_ms as whole
    from sums
    where scope <> 'node'
    union all
    select
        'device_availability_open' as metric, sums.*,
        device_ok_open_ms as part, device_service_ms as whole
    from sums
    where scope <> 'node'
),

budgets as (
    select
        sums.cluster,
        sums.scope,
        sums.scope_value,
        sums.node_count,
        -- Decimal, so that 99.95 % leaves exactly 0.05 %.
        cast(1 - cast(objectives.objective as decimal(9, 8)) as double)
        * cast(sums.service_ms as double) / 3600000 as allowed_hours,
        cast(sums.service_ms - sums.ok_closed_ms as double) / 3600000 as burnt_hours
    from sums
    cross join catalog.objectives as objectives
    where objectives.metric = 'node_availability_closed' and sums.scope <> 'node'
),

figures as (
    select
        metric, cluster, scope, scope_value, node_count,
        cast(part as double) / nullif(cast(whole as double), 0) as value,
        cast(part as double) / 1000 as numerator,
        cast(whole as double) / 1000 as denominator,
        'ratio' as unit
    from ratios
    union all
    select
        'availability_budget_hours' as metric, cluster, scope, scope_value, node_count,
        allowed_hours as value,
        cast(null as double) as numerator,
        cast(null as double) as denominator,
        'node-hours' as unit
    from budgets
    union all
    select
        'availability_budget_burnt' as metric, cluster, scope, scope_value, node_count,
        burnt_hours / nullif(allowed_hours, 0) as value,
        burnt_hours as numerator,
        allowed_hours as denominator,
        'ratio' as unit
    from budgets
)

select
    metric,
    scope,
    scope_value,
    value,
    cast(null as double) as low,
    cast(null as double) as high,
    numerator,
    denominator,
    cast(node_count as bigint) as event_count,
    unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from figures
