-- Jobs whose steps are known and that hold no GPU, as far as the lake knows: their steps are in no number.
--
-- held_in is another cluster in which a job of this key or name holds GPUs: the steps were then collected, or
-- imported, under another --cluster than the pods. Null: no pod of the job was collected.
--
-- grain: cluster, job

with with_steps as (
    select
        attempt.cluster,
        attempt.job,
        count(*) as attempt_count,
        sum(pace.record_count) as record_count
    from intervals.attempt_pace as pace
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    where pace.record_count > 0
    group by attempt.cluster, attempt.job
),

holders as (
    select distinct pod.cluster, pod.job, coalesce(job.name, pod.job) as name
    from staged.pods as pod
    left join staged.jobs as job using (cluster, job)
    where pod.gpus > 0 and pod.job is not null
),

names as (
    select cluster, job as called from holders
    union
    select cluster, name from holders
),

elsewhere as (
    select called, min(cluster) as cluster
    from names
    group by called
)

select
    steps.cluster,
    steps.job,
    job.name,
    steps.attempt_count,
    steps.record_count,
    coalesce(by_key.cluster, by_name.cluster) as held_in
from with_steps as steps
anti join holders using (cluster, job)
left join staged.jobs as job using (cluster, job)
left join elsewhere as by_key on steps.job = by_key.called
left join elsewhere as by_name on job.name = by_name.called
