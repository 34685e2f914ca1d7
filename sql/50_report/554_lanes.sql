-- What a node, or the GPUs of a job, did most, over the window cut into equal buckets: one letter of
-- catalog.state_groups a bucket, a dot where there was none of it. Lanes are the nodes that cost
-- most and the jobs that lost most. Short events inside a bucket do not show; the ledger has them.
--
-- grain: cluster, lane_kind, lane

with grid as (
    select
        getvariable('window_start_ms') as start_ms,
        getvariable('window_end_ms') - getvariable('window_start_ms') as span_ms,
        greatest(
            1000, (getvariable('window_end_ms') - getvariable('window_start_ms') + 671) // 672
        ) as bucket_ms
),

nodes as (
    select cluster, node_uid
    from report.nodes
    qualify row_number() over (
        order by cost_gpu_hours desc, gpu_hours desc, cluster, node_uid
    ) <= 300
),

jobs as (
    select cluster, job
    from report.jobs
    qualify row_number() over (order by lost_gpu_hours desc, gpu_hours desc, cluster, job) <= 100
),

-- Numbered, since what fills them is sorted by the million.
lanes as (
    select row_number() over (order by cluster, lane_kind, lane) as lane_id, *
    from (
        select cluster, 'node' as lane_kind, node_uid as lane from nodes
        union all
        select cluster, 'job' as lane_kind, job as lane from jobs
    )
),

entries as (
    select lanes.lane_id, entry.*
    from ledger.entries as entry
    inner join ledger.device_groups as device using (group_id)
    inner join lanes
        on
            lanes.lane_kind = 'node'
            and device.cluster = lanes.cluster
            and device.node_uid = lanes.lane
    union all
    select lanes.lane_id, entry.*
    from ledger.entries as entry
    inner join intervals.pod_devices as held using (pod_id)
    inner join staged.pods as pod on held.cluster = pod.cluster and held.pod_uid = pod.pod_uid
    inner join lanes
        on lanes.lane_kind = 'job' and pod.cluster = lanes.cluster and pod.job = lanes.lane
),

-- What a lane has of one crew is summed before the pieces of the crew are looked up.
summed as (
    select
        lane_id,
        attempt_id,
        charge_id,
        started_ms,
        ended_ms,
        cast(sum(unit_count) as bigint) as units
    from entries
    group by lane_id, attempt_id, charge_id, started_ms, ended_ms
),

booked as (
    select lane_id, charge_id, started_ms, ended_ms, units
    from summed
    where charge_id is not null
    union all
    select summed.lane_id, piece.charge_id, piece.started_ms, piece.ended_ms, summed.units
    from summed
    inner join ledger.crew_pieces as piece
        on
            summed.attempt_id = piece.attempt_id
            and summed.started_ms = piece.crew_started_ms
            and summed.ended_ms = piece.crew_ended_ms
),

kinds as (
    select charge.charge_id, state_groups.code, state_groups.position
    from ledger.charges as charge
    left join catalog.states as states using (state)
    inner join catalog.state_groups as state_groups
        on coalesce(states.state_group, 'unknown') = state_groups.state_group
),

pieces as (
    select
        booked.lane_id,
        kinds.code,
        kinds.position,
        booked.started_ms - grid.start_ms as started_ms,
        booked.ended_ms - grid.start_ms as ended_ms,
        booked.units,
        grid.bucket_ms
    from booked
    inner join kinds using (charge_id)
    cross join grid
),

spread as (
    select
        *,
        unnest(range(started_ms // bucket_ms, (ended_ms - 1) // bucket_ms + 1)) as bucket
    from pieces
),

filled as (
    select
        lane_id,
        bucket,
        code,
        position,
        sum(
            units * (
                least(ended_ms, (bucket + 1) * bucket_ms) - greatest(started_ms, bucket * bucket_ms)
            )
        ) as amount
    from spread
    group by lane_id, bucket, code, position
),

-- Of equal amounts, what comes first among the groups, whose positions are below 1000.
dominant as (
    select lane_id, bucket, arg_max(code, 1000 * amount - position) as code
    from filled
    group by lane_id, bucket
),

cells as (
    select
        lanes.*,
        grid.bucket_ms,
        unnest(range(0, (grid.span_ms + grid.bucket_ms - 1) // grid.bucket_ms)) as bucket
    from lanes
    cross join grid
)

select
    cells.cluster,
    cells.lane_kind,
    cells.lane,
    min(cells.bucket_ms) as bucket_ms,
    string_agg(coalesce(dominant.code, '.'), '' order by cells.bucket) as cells
from cells
left join dominant using (lane_id, bucket)
group by cells.cluster, cells.lane_kind, cells.lane
