-- Checkpoints found in listings of storage, given to the job whose lineage or name their path
-- holds.
--
-- The user's word counts first, then the longest match. Only listings with times give rows: a step
-- without a time proves nothing about when. A checkpoint that is not whole was written and never
-- committed. Its attempt follows from the time, see staged.checkpoints.
--
-- grain: cluster, job, path

with

known_jobs as (
    select
        cluster,
        job,
        name,
        lineage
    from raw.jobs

    union

    select
        cluster,
        job,
        name,
        lineage
    from observed.jobs_kube

    union

    select
        cluster,
        job,
        name,
        lineage
    from observed.jobs_log

    union

    select
        cluster,
        job,
        name,
        lineage
    from observed.jobs_tracker
),

labels as (
    select distinct
        cluster,
        job,
        trim(unnest([job, name, lineage]), '/') as label
    from known_jobs
),

-- The newest listing of a path is what is there now.
listed as (
    select *
    from raw.checkpoint_files
    where step is not null and last_written_at is not null
    qualify
        row_number() over (
            partition by cluster, path, step
            order by ingested_at desc nulls last, run_id desc nulls last, row_id desc nulls last
        ) = 1
),

matched as (
    select
        listed.*,
        labels.job as matched_job
    from listed
    left join labels
        on
            listed.cluster = labels.cluster
            and labels.label <> ''
            and contains(
                concat('/', listed.root, '/', listed.path, '/'), concat('/', labels.label, '/')
            )
    qualify
        row_number() over (
            partition by listed.cluster, listed.path, listed.step
            order by length(labels.label) desc nulls last, labels.job
        ) = 1
)

select
    cluster,
    coalesce(job, matched_job) as job,
    cast(null as integer) as attempt,
    step,
    date_trunc('milliseconds', first_written_at) as write_start,
    case
        when is_complete then date_trunc('milliseconds', coalesce(committed_at, last_written_at))
    end as committed_at,
    cast(null as timestamptz) as invalid_at,
    path,
    bytes,
    date_trunc('milliseconds', deleted_at) as deleted_at,
    ingested_at,
    ingested_from,
    run_id,
    row_id
from matched
where coalesce(job, matched_job) is not null
