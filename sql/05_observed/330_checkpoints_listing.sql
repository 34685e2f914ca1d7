-- Checkpoints found in listings of storage, given to the job whose lineage or name their path
-- holds.
--
-- The user's word counts first, then the longest match. Only listings with times give rows: a step
-- without a time proves nothing about when. A checkpoint that is not whole was written and never
-- committed. Its attempt follows from the time, see staged.checkpoints.
--
-- grain: cluster, job, path
-- nothing without: raw.checkpoint_files

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

labels as (
    select
        known_jobs.cluster,
        trim(texts.label, '/') as label,
        min(known_jobs.job) as job
    from known_jobs
    semi join listed using (cluster)
    cross join unnest([known_jobs.job, known_jobs.name, known_jobs.lineage]) as texts(label)
    where trim(texts.label, '/') <> ''
    group by known_jobs.cluster, trim(texts.label, '/')
),

-- Each run of names in a path, of as many names as some label has: what a label can be equal to.
label_lengths as (
    select distinct len(string_split(label, '/')) as name_count
    from labels
),

named as (
    select
        cluster,
        path,
        step,
        string_split(concat('/', root, '/', path, '/'), '/') as names
    from listed
),

runs as (
    select distinct
        named.cluster,
        named.path,
        named.step,
        array_to_string(
            named.names[starts.first_name:starts.first_name + label_lengths.name_count - 1], '/'
        ) as label
    from named
    cross join label_lengths
    cross join
        unnest(range(2, len(named.names) - label_lengths.name_count + 1)) as starts(first_name)
),

owners as (
    select
        runs.cluster,
        runs.path,
        runs.step,
        labels.job
    from runs
    inner join labels using (cluster, label)
    qualify
        row_number() over (
            partition by runs.cluster, runs.path, runs.step
            order by length(labels.label) desc, labels.job
        ) = 1
),

matched as (
    select
        listed.*,
        owners.job as matched_job
    from listed
    left join owners using (cluster, path, step)
)

select
    cluster,
    coalesce(job, matched_job) as job,
    step,
    date_trunc('milliseconds', first_written_at) as write_start,
    case
        when is_complete then date_trunc('milliseconds', coalesce(committed_at, last_written_at))
    end as committed_at,
    path,
    bytes,
    date_trunc('milliseconds', deleted_at) as deleted_at,
    ingested_at,
    ingested_from,
    run_id,
    row_id
from matched
where coalesce(job, matched_job) is not null
