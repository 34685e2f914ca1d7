-- GPUs that pods share: MIG slices, time-slicing, MPS. shared_gpu_hours is the time held through shares,
-- at the size of the share; shared_use is that time over all time of the GPUs that were shared at some
-- time in the window. The rest of such a GPU was idle, unavailable, or held whole. Numerators and
-- denominators are GPU-seconds.
--
-- grain: cluster, metric, scope, scope_value

-- Few GPUs are shared at all: only theirs are summed.
with shared_groups as (
    select distinct share.group_id
    from ledger.charged_shares as share
    inner join intervals.pod_devices as held using (pod_id)
    inner join staged.pods as pod on held.cluster = pod.cluster and held.pod_uid = pod.pod_uid
    where pod.is_shared
),

booked as (
    select
        share.group_id,
        share.pod_id,
        sum(share.unit_ms) as unit_ms
    from ledger.charged_shares as share
    semi join shared_groups using (group_id)
    group by share.group_id, share.pod_id
),

named as (
    select
        booked.group_id,
        device.cluster,
        device.pool,
        jobs.team,
        coalesce(pod.is_shared, false) as is_shared,
        booked.unit_ms
    from booked
    inner join ledger.device_groups as device using (group_id)
    left join intervals.pod_devices as held using (pod_id)
    left join staged.pods as pod on held.cluster = pod.cluster and held.pod_uid = pod.pod_uid
    left join staged.jobs as jobs on pod.cluster = jobs.cluster and pod.job = jobs.job
),

shared as (
    select *
    from named
    qualify bool_or(is_shared) over (partition by group_id)
),

scoped as (
    select
        clusters.cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'pool', 'scope_value': shared.pool},
            {'scope': 'team', 'scope_value': case when shared.is_shared then shared.team end}
        ], recursive := true),
        case when shared.is_shared then shared.unit_ms else 0 end as shared_ms,
        shared.unit_ms
    from shared
    inner join rollups.clusters as clusters on shared.cluster = clusters.member
    union all
    -- A fleet without shares has a row all the same.
    select distinct cluster, 'fleet', '', 0, 0
    from rollups.clusters
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        sum(shared_ms) as shared_ms,
        sum(unit_ms) as unit_ms
    from scoped
    where scope_value is not null
    group by cluster, scope, scope_value
),

figures as (
    select
        'shared_gpu_hours' as metric,
        cluster,
        scope,
        scope_value,
        gpu_hours(shared_ms) as value,
        'GPU-hours' as unit
    from sums
    union all by name
    select
        'shared_use' as metric,
        cluster,
        scope,
        scope_value,
        ratio(shared_ms, unit_ms) as value,
        gpu_seconds(shared_ms) as numerator,
        gpu_seconds(unit_ms) as denominator,
        'ratio' as unit
    from sums
    where scope in ('fleet', 'pool')
)

select * from metric_rows(figures)
