-- Nodes with failures of their own in 28 days: the odds that it was chance [5.7], and beside them the
-- seven signals that Meta looks at (arXiv 2410.21680), which only rank what the odds have named.
--
-- grain: cluster, node_uid
-- nothing without: rollups.recent_failures

with parameters as (
    select getvariable('window_end_ms') - 2419200000 as since_ms
),

-- Attempts and how many nodes they held.
gangs as (
    select cluster, job, attempt, count(distinct node_uid) as node_count
    from staged.pods
    where role = 'worker' and node_uid is not null
    group by cluster, job, attempt
),

singles as (
    select pod.cluster, pod.node_uid, count(distinct (pod.job, pod.attempt)) as attempt_count
    from staged.pods as pod
    inner join gangs as gang using (cluster, job, attempt)
    semi join rollups.recent_failures as failed
        on pod.cluster = failed.cluster and pod.node_uid = failed.node_uid
    where
        gang.node_count = 1
        and ms_of(pod.bound_at) >= (select since_ms from parameters)
    group by pod.cluster, pod.node_uid
),

stopped as (
    select
        attribution.cluster,
        attribution.node_uid,
        attribution.job,
        gang.node_count,
        following.job is not null as is_restarted,
        -- The next gang of the lineage left the node out.
        following.job is not null and not exists (
            select 1
            from staged.pods as pod
            where
                pod.cluster = following.cluster
                and pod.job = following.job
                and pod.attempt = following.attempt
                and pod.node_uid = attribution.node_uid
        ) as is_excluded
    from intervals.attribution as attribution
    inner join catalog.taxonomy as taxonomy on attribution.class = taxonomy.class
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    inner join gangs as gang using (cluster, job, attempt)
    left join intervals.lineage_attempts as following
        on
            attempt.cluster = following.cluster
            and attempt.job = following.prev_job
            and attempt.attempt = following.prev_attempt
    where
        attribution.node_uid is not null
        and taxonomy.domain = 'infra'
        and attempt.ended_ms >= (select since_ms from parameters)
        and attempt.ended_ms < getvariable('window_end_ms')
),

stops as (
    select
        cluster,
        node_uid,
        count(distinct case when is_excluded then job end) as excluding_job_count,
        count(*) filter (where node_count > 1) as multi_node_failure_count,
        count(*) filter (where node_count = 1) as single_node_failure_count
    from stopped
    group by cluster, node_uid
),

xids as (
    select
        cluster,
        node_uid,
        count(distinct xid) as xid_count
    from staged.evidence
    where
        xid is not null
        and ms_of(observed_at) >= (select since_ms from parameters)
        and ms_of(observed_at) < getvariable('window_end_ms')
    group by cluster, node_uid
),

tickets as (
    select cluster, node_uid, count(*) as repair_count
    from staged.node_admin
    where
        kind = 'repair'
        and not is_planned
        and ms_of(started_at) >= (select since_ms from parameters)
        and ms_of(started_at) < getvariable('window_end_ms')
    group by cluster, node_uid
),

outages as (
    select outage.cluster, outage.node_uid, count(distinct outage.started_ms) as outage_count
    from intervals.outages as outage
    inner join staged.nodes as node using (cluster, node_uid)
    where
        not outage.is_planned
        and outage.started_ms >= ms_of(node.ready_at)
        and outage.started_ms >= (select since_ms from parameters)
        and outage.started_ms < getvariable('window_end_ms')
    group by outage.cluster, outage.node_uid
),

classes as (
    select cluster, node_uid, list_sort(list(distinct class)) as classes
    from rollups.recent_failures
    group by cluster, node_uid
)

select
    odds.cluster,
    odds.node_uid,
    node.name as node_name,
    node.pool,
    node.paid_to is not null as is_gone,
    odds.exposure_hours,
    odds.failure_count,
    odds.p_value,
    odds.q_value,
    odds.is_lemon,
    classes.classes,
    coalesce(stops.excluding_job_count, 0) as excluding_job_count,
    coalesce(xids.xid_count, 0) as xid_count,
    coalesce(tickets.repair_count, 0) as repair_count,
    coalesce(outages.outage_count, 0) as outage_count,
    coalesce(stops.multi_node_failure_count, 0) as multi_node_failure_count,
    coalesce(stops.single_node_failure_count, 0) as single_node_failure_count,
    stops.single_node_failure_count / nullif(singles.attempt_count, 0) as single_node_failure_rate,
    coalesce(costs.cost_gpu_hours, 0) as cost_gpu_hours
from rollups.node_odds as odds
inner join staged.nodes as node using (cluster, node_uid)
inner join classes using (cluster, node_uid)
left join stops using (cluster, node_uid)
left join xids using (cluster, node_uid)
left join tickets using (cluster, node_uid)
left join outages using (cluster, node_uid)
left join singles using (cluster, node_uid)
left join report.nodes as costs using (cluster, node_uid)
