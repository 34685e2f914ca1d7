-- When somebody last saw pods of an attempt that is still open, where Kubernetes objects tell of them.
--
-- What a dump shows is as new as the newest instant that the dump tells of. Pods that no look at a
-- cluster showed have no row.
--
-- grain: cluster, job, attempt
-- nothing without: raw.kube_objects

with open_pods as (
    select pod.cluster, pod.pod_uid, pod.job, pod.attempt
    from staged.pods as pod
    inner join staged.attempts as attempt using (cluster, job, attempt)
    where attempt.ended_at is null
),

seen as (
    select
        pod.cluster,
        pod.job,
        pod.attempt,
        object.run_id,
        max(object.observed_at) as seen_at
    from raw.kube_objects as object
    inner join open_pods as pod on object.cluster = pod.cluster and object.uid = pod.pod_uid
    where object.kind = 'Pod' and not object.is_deleted
    group by pod.cluster, pod.job, pod.attempt, object.run_id
),

runs as (
    select cluster, run_id, max(told_at) as told_at
    from (
        select cluster, run_id, observed_at as told_at from raw.kube_lists
        union all
        select cluster, run_id, last_at from raw.log_files
    )
    semi join seen using (cluster, run_id)
    group by cluster, run_id
)

select
    seen.cluster,
    seen.job,
    seen.attempt,
    max(greatest(seen.seen_at, runs.told_at)) as seen_at
from seen
left join runs using (cluster, run_id)
group by seen.cluster, seen.job, seen.attempt
having max(greatest(seen.seen_at, runs.told_at)) is not null
