-- Attempts of several nodes in 28 days, with whether they failed for no known reason: from which nodes
-- are in too many of the failed ones, suspicion is reckoned [5.7].
--
-- Only sizes of which an attempt failed so: others tell nothing.
--
-- grain: cluster, job, attempt

with ended as (
    select
        attempt.cluster,
        attempt.job,
        attempt.attempt,
        coalesce(
            taxonomy.domain = 'unknown'
            or (taxonomy.domain = 'infra' and attribution.node_uid is null),
            false
        ) as is_failed
    from intervals.lineage_attempts as attempt
    left join intervals.attribution as attribution using (cluster, job, attempt)
    left join catalog.taxonomy as taxonomy on attribution.class = taxonomy.class
    where
        attempt.job_kind = 'training'
        and attempt.ended_ms >= getvariable('window_end_ms') - 2419200000
        and attempt.ended_ms < getvariable('window_end_ms')
),

gangs as (
    select
        pod.cluster,
        pod.job,
        pod.attempt,
        any_value(ended.is_failed) as is_failed,
        list_sort(list(distinct pod.node_uid)) as nodes
    from staged.pods as pod
    inner join ended using (cluster, job, attempt)
    where pod.role = 'worker' and pod.node_uid is not null
    group by pod.cluster, pod.job, pod.attempt
)

select cluster, job, attempt, is_failed, nodes
from gangs
where len(nodes) > 1
qualify bool_or(is_failed) over (partition by cluster, len(nodes))
