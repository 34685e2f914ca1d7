-- Goodput, GPU-hours and lost time by instance type and GPU model, from the nodes that the time was on.
-- Capacity that was reserved and never launched has no hardware. Numerators and denominators of ratios
-- are GPU-seconds.
--
-- grain: cluster, metric, scope, scope_value

with hardware as (
    select device.group_id, node.cluster, node.instance_type, node.gpu_model
    from ledger.device_groups as device
    inner join staged.nodes as node using (cluster, node_uid)
    where node.instance_type is not null or node.gpu_model is not null
),

booked as (
    select
        hardware.cluster,
        hardware.instance_type,
        hardware.gpu_model,
        share.charge_id,
        sum(share.unit_ms) as unit_ms
    from ledger.charged_shares as share
    inner join hardware using (group_id)
    group by all
),

cells as (
    select
        clusters.cluster,
        unnest([
            {'scope': 'instance_type', 'scope_value': booked.instance_type},
            {'scope': 'gpu_model', 'scope_value': booked.gpu_model}
        ], recursive := true),
        charge.state,
        charge.cause,
        booked.unit_ms
    from booked
    inner join ledger.charges as charge using (charge_id)
    inner join rollups.clusters as clusters on booked.cluster = clusters.member
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        sum(unit_ms) as paid,
        sum(case when state like 'A.productive.%' then unit_ms else 0 end) as productive,
        sum(case when state like 'A.%' then unit_ms else 0 end) as allocated,
        sum(case when is_loss(state, cause) then unit_ms else 0 end) as lost
    from cells
    where scope_value is not null
    group by cluster, scope, scope_value
),

ratios as (
    select 'goodput_paid' as metric, sums.*, paid as whole
    from sums
    union all
    select 'goodput_allocated' as metric, sums.*, allocated as whole
    from sums
),

amounts as (
    select 'gpu_hours' as metric, sums.*, paid as amount
    from sums
    union all
    select 'lost_gpu_hours' as metric, sums.*, lost as amount
    from sums
),

figures as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        ratio(productive, whole) as value,
        gpu_seconds(productive) as numerator,
        gpu_seconds(whole) as denominator,
        'ratio' as unit
    from ratios
    union all by name
    select
        metric,
        cluster,
        scope,
        scope_value,
        gpu_hours(amount) as value,
        'GPU-hours' as unit
    from amounts
)

select * from metric_rows(figures)
