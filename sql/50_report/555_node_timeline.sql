-- What each node did most, over the window cut into equal buckets: one letter of
-- catalog.state_groups a bucket, a dot where the node was not paid. Short events inside a bucket do
-- not show; the ledger has them.
--
-- grain: cluster, node_uid

with grid as (
    select
        getvariable('window_start_ms') as start_ms,
        getvariable('window_end_ms') - getvariable('window_start_ms') as span_ms,
        greatest(
            1000, (getvariable('window_end_ms') - getvariable('window_start_ms') + 671) // 672
        ) as bucket_ms
),

worst as (
    select
        cluster,
        node_uid,
        node_name,
        pool
    from report.nodes
    qualify row_number() over (
        order by cost_gpu_hours desc, gpu_hours desc, cluster, node_uid
    ) <= 300
),

pieces as (
    select
        worst.cluster,
        worst.node_uid,
        coalesce(states.state_group, 'unknown') as state_group,
        booking.started_ms - grid.start_ms as started_ms,
        booking.ended_ms - grid.start_ms as ended_ms,
        booking.unit_ms / (booking.ended_ms - booking.started_ms) as units,
        grid.bucket_ms
    from ledger.bookings as booking
    inner join ledger.device_groups as device using (group_id)
    inner join worst on device.cluster = worst.cluster and device.node_uid = worst.node_uid
    inner join ledger.charges as charge using (charge_id)
    cross join grid
    left join catalog.states as states on charge.state = states.state
),

spread as (
    select
        *,
        unnest(range(started_ms // bucket_ms, (ended_ms - 1) // bucket_ms + 1)) as bucket
    from pieces
),

filled as (
    select
        cluster,
        node_uid,
        bucket,
        state_group,
        sum(
            units * (
                least(ended_ms, (bucket + 1) * bucket_ms) - greatest(started_ms, bucket * bucket_ms)
            )
        ) as amount
    from spread
    group by cluster, node_uid, bucket, state_group
),

dominant as (
    select
        filled.cluster,
        filled.node_uid,
        filled.bucket,
        state_groups.code
    from filled
    inner join catalog.state_groups as state_groups on filled.state_group = state_groups.state_group
    qualify row_number() over (
        partition by filled.cluster, filled.node_uid, filled.bucket
        order by filled.amount desc, state_groups.position
    ) = 1
),

cells as (
    select
        worst.cluster,
        worst.node_uid,
        worst.node_name,
        worst.pool,
        grid.bucket_ms,
        unnest(range(0, (grid.span_ms + grid.bucket_ms - 1) // grid.bucket_ms)) as bucket
    from worst
    cross join grid
)

select
    cells.cluster,
    cells.node_uid,
    min(cells.node_name) as node_name,
    min(cells.pool) as pool,
    min(cells.bucket_ms) as bucket_ms,
    string_agg(coalesce(dominant.code, '.'), '' order by cells.bucket) as cells
from cells
left join dominant
    on
        cells.cluster = dominant.cluster
        and cells.node_uid = dominant.node_uid
        and cells.bucket = dominant.bucket
group by cells.cluster, cells.node_uid
