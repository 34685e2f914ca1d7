-- The job of each attempt inside a log, and the attempt where something says which.
--
-- In this order: what the user said, the pod, the path, the file itself. Segments of one process
-- that restarted in place belong to the attempt of its pod.
--
-- grain: cluster, log_id, segment

select
    file.cluster,
    file.log_id,
    segment.segment,
    file.stream,
    file.path,
    case
        when file.job is not null then 'hint'
        when pod.pod_uid is not null then 'pod'
        when file.path_job is not null then 'path'
        else 'file'
    end as owner,
    coalesce(file.job, pod.job, file.path_job, file.stream) as job,
    coalesce(file.job, pod.job, file.path_job, file.name) as job_name,
    case
        when file.job is not null then coalesce(file.attempt, file.path_attempt)
        when pod.pod_uid is not null then pod.attempt
        else coalesce(file.attempt, file.path_attempt)
    end as given_attempt,
    pod.pod_uid,
    pod.node_uid,
    file.namespace,
    coalesce(file.rank, pod.rank) as rank,
    segment.started_at,
    segment.ended_at,
    pod.ended_at as pod_ended_at,
    segment.outcome,
    segment.resume_step,
    segment.step_records,
    file.ingested_at,
    file.path as ingested_from,
    file.run_id
from observed.log_files_latest as file
inner join observed.log_segments_latest as segment using (cluster, log_id)
left join observed.log_pods as pod using (cluster, log_id, segment)
