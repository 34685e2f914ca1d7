-- The job of each attempt inside a log, and the attempt where something says which.
--
-- In this order: what the user said, the pod, the path, the file itself. Segments of one process
-- that restarted in place belong to the attempt of its pod. People name jobs as they know them: a job that
-- Kubernetes objects or imported tables know is met by its key or by its name, and a file that nothing
-- else places by what its name begins with. Of several jobs of one name it is the last that had begun.
--
-- grain: cluster, log_id, segment
-- nothing without: observed.log_segments_latest

with known_jobs as (
    select cluster, job, name, namespace from raw.jobs
    union
    select cluster, job, name, namespace from observed.jobs_kube
),

labels as (
    select distinct cluster, job, namespace, unnest([job, name]) as label
    from known_jobs
),

begun as (
    select cluster, job, min(start) as began_at
    from (
        select cluster, job, start from raw.attempts
        union all
        select cluster, job, start from observed.attempts_kube
    )
    group by cluster, job
),

called as (
    select
        file.cluster,
        file.log_id,
        segment.segment,
        labels.job
    from observed.log_files_latest as file
    inner join observed.log_segments_latest as segment using (cluster, log_id)
    inner join labels
        on
            file.cluster = labels.cluster
            and coalesce(
                file.job, file.path_job, nullif(regexp_extract(file.name, '^[^.]*'), '')
            ) = labels.label
    left join begun on labels.cluster = begun.cluster and labels.job = begun.job
    qualify row_number() over (
        partition by file.cluster, file.log_id, segment.segment
        order by
            labels.job = labels.label desc,
            coalesce(labels.namespace = file.namespace, false) desc,
            coalesce(
                begun.began_at <= segment.started_at + to_seconds(getvariable('skew_s')), false
            ) desc,
            begun.began_at desc nulls last,
            labels.job
    ) = 1
)

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
    coalesce(
        case when file.job is null then pod.job end,
        called.job,
        file.job,
        file.path_job,
        file.stream
    ) as job,
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
left join called using (cluster, log_id, segment)
