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

-- Where no attempt failed so, no gang is needed.
suspected as (
    select *
    from ended
    qualify bool_or(is_failed) over (partition by cluster)
),

gangs as (
    select
        pod.cluster,
        pod.job,
        pod.attempt,
        list_sort(list(distinct pod.node_uid)) as nodes
    from staged.pods as pod
    semi join suspected using (cluster, job, attempt)
    where pod.role = 'worker' and pod.node_uid is not null
    group by pod.cluster, pod.job, pod.attempt
)

select cluster, job, attempt, suspected.is_failed, gangs.nodes
from gangs
inner join suspected using (cluster, job, attempt)
where len(gangs.nodes) > 1
qualify bool_or(suspected.is_failed) over (partition by cluster, len(gangs.nodes))
