-- Availability (STANDARD 5.2): time fit for work over time in service. closed counts a node whose
-- required check is silent as unfit, open ignores silence, sched asks whether it would take a pod;
-- node_availability_unplanned leaves planned maintenance out of both sides. Node-weighted ratios
-- have node-seconds underneath, device-weighted ones device-seconds; event_count is the number of
-- nodes, and low and high tell how much these differ (5.12). The budget is what catalog.objectives
-- allows, in node-hours, and what was burnt of it, by the class of the outage too.
--
-- grain: cluster, metric, scope, scope_value

with nodes as (
    select
        clusters.cluster,
        health.* exclude (cluster),
        health.cluster as member,
        hardware.instance_type,
        hardware.gpu_model
    from rollups.node_health as health
    inner join rollups.clusters as clusters on health.cluster = clusters.member
    left join staged.nodes as hardware
        on health.cluster = hardware.cluster and health.node_uid = hardware.node_uid
),

scoped as (
    select
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'pool', 'scope_value': pool},
            {'scope': 'instance_type', 'scope_value': instance_type},
            {'scope': 'gpu_model', 'scope_value': gpu_model},
            -- A node's uid is unique in its cluster only.
            {'scope': 'node', 'scope_value': case when cluster <> '*' then node_uid end}
        ], recursive := true),
        {'member': member, 'node_uid': node_uid} as owner,
        nodes.*
    from nodes
),

parts as (
    select
        cluster,
        scope,
        scope_value,
        owner,
        unnest([
            {'metric': 'node_availability_closed', 'part': ok_closed_ms, 'whole': service_ms},
            {'metric': 'node_availability_open', 'part': ok_open_ms, 'whole': service_ms},
            {'metric': 'node_availability_sched', 'part': schedulable_ms, 'whole': service_ms},
            {
                'metric': 'node_availability_unplanned',
                'part': unplanned_ok_ms,
                'whole': unplanned_service_ms
            },
            {
                'metric': 'device_availability_closed',
                'part': device_ok_closed_ms,
                'whole': device_service_ms
            },
            {'metric': 'device_availability_open', 'part': device_ok_open_ms, 'whole': device_service_ms}
        ], recursive := true)
    from scoped
    where scope_value is not null
),

judged as (
    select *
    from parts
    where scope <> 'node' or metric not like 'device%'
),

ratios as (
    select * from jackknifed(judged)
),

objective as (
    -- Decimal, so that 99.95 % leaves exactly 0.05 %.
    select cast(1 - cast(objective as decimal(9, 8)) as double) as allowed_share
    from catalog.objectives
    where metric = 'node_availability_closed'
),

budgets as (
    select
        ratios.cluster,
        ratios.scope,
        ratios.scope_value,
        ratios.owner_count,
        objective.allowed_share * cast(ratios.whole as double) / 3600000 as allowed_hours,
        cast(ratios.whole - ratios.part as double) / 3600000 as burnt_hours
    from ratios
    cross join objective
    where ratios.metric = 'node_availability_closed' and ratios.scope <> 'node'
),

downtimes as (
    select
        clusters.cluster,
        downtime.class,
        sum(downtime.down_ms) / 3600000 as burnt_hours,
        count(distinct (downtime.cluster, downtime.node_uid)) as owner_count
    from rollups.node_downtime as downtime
    inner join rollups.clusters as clusters on downtime.cluster = clusters.member
    group by clusters.cluster, downtime.class
),

burnt as (
    select cluster, scope, scope_value, owner_count, burnt_hours, allowed_hours
    from budgets
    union all by name
    select
        cluster,
        'class' as scope,
        downtimes.class as scope_value,
        downtimes.owner_count,
        downtimes.burnt_hours,
        budgets.allowed_hours
    from downtimes
    inner join budgets using (cluster)
    where budgets.scope = 'fleet'
),

figures as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        value,
        low,
        high,
        part / 1000 as numerator,
        whole / 1000 as denominator,
        owner_count as event_count,
        'ratio' as unit
    from ratios
    union all by name
    select
        'availability_budget_hours' as metric,
        cluster,
        scope,
        scope_value,
        allowed_hours as value,
        owner_count as event_count,
        'node-hours' as unit
    from budgets
    union all by name
    select
        'availability_budget_burnt' as metric,
        cluster,
        scope,
        scope_value,
        burnt_hours / nullif(allowed_hours, 0) as value,
        burnt_hours as numerator,
        allowed_hours as denominator,
        owner_count as event_count,
        'ratio' as unit
    from burnt
)

select * from metric_rows(figures)
