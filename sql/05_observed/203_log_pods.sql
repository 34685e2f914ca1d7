-- The pod that wrote each attempt inside a log: by uid, else by name, whose life overlaps most.
--
-- A name alone is only a guess from the file's name. Pods that took turns under one name are told
-- apart by time; without times the newest is taken.
--
-- grain: cluster, log_id, segment

with candidates as (
    select
        file.cluster,
        file.log_id,
        segment.segment,
        pod.pod_uid,
        pod.job,
        pod.attempt,
        pod.node_uid,
        pod.rank,
        pod.bound_at,
        pod.ended_at,
        case
            when segment.started_at is null or pod.bound_at is null then 0
            else
                ms_of(least(coalesce(segment.ended_at, segment.started_at), pod.ended_at))
                - ms_of(greatest(segment.started_at, pod.bound_at))
        end as overlap_ms
    from observed.log_files_latest as file
    inner join observed.log_segments_latest as segment using (cluster, log_id)
    inner join observed.known_pods as pod
        on
            file.cluster = pod.cluster
            and case
                when file.pod_uid is not null then pod.uid = file.pod_uid
                else
                    pod.name = file.pod
                    and coalesce(pod.namespace = file.namespace, true)
            end
    where file.job is null
)

select
    cluster,
    log_id,
    segment,
    pod_uid,
    job,
    attempt,
    node_uid,
    rank,
    ended_at
from candidates
qualify row_number() over (
    partition by cluster, log_id, segment
    order by overlap_ms desc, bound_at desc nulls last, pod_uid
) = 1
