-- Pods that may have written a log: those seen in the cluster and those that were imported.
--
-- A pod that restarted in place is one row an attempt, `uid#run`; `uid` is the object's own.
--
-- grain: cluster, pod_uid

with pods as (
    select
        cluster,
        pod_uid,
        name,
        namespace,
        job,
        attempt,
        node_uid,
        rank,
        bound_at,
        released_at,
        terminated_at
    from observed.pods_kube

    union all by name

    select
        cluster,
        pod_uid,
        name,
        namespace,
        job,
        attempt,
        node_uid,
        rank,
        bound_at,
        released_at,
        terminated_at
    from raw.pods
    -- Whose logs nobody read need not be told apart.
    where exists (select 1 from raw.log_files)
    qualify row_number() over (
        partition by cluster, pod_uid order by ingested_at desc nulls last, run_id desc, row_id
    ) = 1
)

select
    cluster,
    pod_uid,
    split_part(pod_uid, '#', 1) as uid,
    name,
    namespace,
    job,
    attempt,
    node_uid,
    rank,
    bound_at,
    -- A container's last lines may be stamped just after its end was noted.
    coalesce(released_at, terminated_at, 'infinity') as ended_at
from pods
where
    job is not null
    and attempt is not null
qualify row_number() over (partition by cluster, pod_uid order by bound_at nulls last) = 1
