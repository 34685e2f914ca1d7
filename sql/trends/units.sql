-- What the metrics of the first screen are summed from, cluster by cluster of what belongs together: a
-- job for goodput and success, a node for availability (STANDARD 5.12). Time that no job held is in one
-- row without a unit. Rates and mean times have one row with their events and exposure.

with gpu_time as (
    select
        cluster,
        case when job is not null then member || '/' || job end as unit,
        case when is_productive then unit_ms else 0 end as productive,
        case when state in ('I.no_demand', 'A.other') then 0 else unit_ms end as demand,
        case when is_lost then unit_ms else 0 end as lost,
        case when is_lost and not is_attributed then unit_ms else 0 end as unattributed,
        unit_ms
    from rollups.gpu_time
),

jobs as (
    select
        clusters.cluster,
        jobs.cluster || '/' || jobs.job as unit,
        jobs.is_success,
        not jobs.is_failure or jobs.domain not in ('infra', 'platform', 'unknown') as is_low,
        not jobs.is_failure or jobs.domain not in ('infra', 'platform') as is_high
    from rollups.ended_jobs as jobs
    inner join rollups.clusters as clusters on jobs.cluster = clusters.member
    where jobs.is_success or jobs.is_failure
),

attempts as (
    select
        clusters.cluster,
        attempts.cluster || '/' || attempts.job as unit,
        attempts.outcome = 'succeeded' as is_success
    from rollups.attempts as attempts
    inner join rollups.clusters as clusters on attempts.cluster = clusters.member
    where
        attempts.is_ended
        and (
            attempts.outcome = 'succeeded'
            or (
                attempts.outcome in ('failed', 'preempted', 'evicted', 'spot')
                and coalesce(attempts.domain <> 'user', true)
            )
        )
),

nodes as (
    select
        clusters.cluster,
        health.cluster || '/' || health.node_uid as unit,
        health.service_ms,
        health.ok_closed_ms,
        health.ok_open_ms,
        health.schedulable_ms
    from rollups.node_health as health
    inner join rollups.clusters as clusters on health.cluster = clusters.member
),

parts as (
    select 'goodput_paid' as metric, cluster, unit, productive as part, unit_ms as whole
    from gpu_time
    union all
    select 'goodput_demand', cluster, unit, productive, demand from gpu_time
    union all
    select 'unattributed_share', cluster, unit, unattributed, lost from gpu_time
    union all
    select 'job_success', cluster, unit, cast(is_success as integer), 1 from jobs
    union all
    select 'infra_only_success_low', cluster, unit, cast(is_low as integer), 1 from jobs
    union all
    select 'infra_only_success_high', cluster, unit, cast(is_high as integer), 1 from jobs
    union all
    select 'attempt_success', cluster, unit, cast(is_success as integer), 1 from attempts
    union all
    select 'node_availability_closed', cluster, unit, ok_closed_ms, service_ms from nodes
    union all
    select 'node_availability_open', cluster, unit, ok_open_ms, service_ms from nodes
    union all
    select 'node_availability_sched', cluster, unit, schedulable_ms, service_ms from nodes
)

select
    metric,
    cluster,
    unit,
    cast(sum(part) as double) as part,
    cast(sum(whole) as double) as whole
from parts
group by metric, cluster, unit
union all
select metric, cluster, null, numerator, denominator
from metrics.time_between_failures
where metric in ('failures_per_1000_node_days', 'mttf_hours') and scope = 'fleet'
order by metric, cluster, unit
