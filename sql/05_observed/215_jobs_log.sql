-- Jobs that only logs know of.
--
-- grain: cluster, job
-- nothing without: observed.attempts_log

with known as (
    select cluster, job
    from observed.known_pods

    union

    select cluster, job
    from raw.jobs

    union

    select cluster, job
    from observed.jobs_kube
),

last_attempts as (
    select *
    from observed.attempts_log
    qualify row_number() over (partition by cluster, job order by attempt desc) = 1
),

names as (
    select cluster, job, min(job_name) as name, min(namespace) as namespace
    from observed.log_attempts
    group by cluster, job
)

select
    last_attempts.cluster,
    last_attempts.job,
    'training' as kind,
    case last_attempts.outcome
        when 'succeeded' then 'succeeded'
        when 'running' then 'running'
        when 'cancelled' then 'cancelled'
        else 'failed'
    end as state,
    last_attempts."end" as ended_at,
    names.name as lineage,
    true as instrumented,
    names.name,
    names.namespace,
    last_attempts.ingested_at,
    last_attempts.ingested_from,
    last_attempts.run_id,
    md5(concat_ws('|', 'job of log', last_attempts.cluster, last_attempts.job)) as row_id
from last_attempts
inner join names using (cluster, job)
anti join known using (cluster, job)
