-- Attempts that only logs know of.
--
-- grain: cluster, job, attempt
-- nothing without: observed.log_attempts

with known as (
    select cluster, job, attempt
    from observed.known_pods

    union

    select cluster, job, attempt
    from raw.attempts

    union

    select cluster, job, attempt
    from observed.attempts_kube
),

unknown as (
    select attempts.*
    from observed.log_attempts as attempts
    anti join known using (cluster, job, attempt)
    where attempts.started_at is not null
),

spans as (
    select
        cluster,
        job,
        attempt,
        min(started_at) as started_at,
        max(ended_at) as ended_at,
        -- The end that most explains: a success, else what was not just a rank's exception.
        arg_min(outcome, case outcome
            when 'succeeded' then 1
            when 'preempted' then 2
            when 'timeout' then 3
            when 'failed' then 4
            else 5
        end) filter (where outcome is not null) as outcome,
        max(resume_step) as resume_step,
        max(ingested_at) as ingested_at,
        min(ingested_from) as ingested_from,
        max(run_id) as run_id
    from unknown
    group by cluster, job, attempt
    -- A text that shows neither steps nor an end need not be a training log at all.
    having sum(step_records) > 0 or count(outcome) > 0 or bool_or(owner = 'hint')
),

following as (
    select
        *,
        lead(started_at) over (partition by cluster, job order by attempt) is not null
            as is_followed
    from spans
)

select
    cluster,
    job,
    attempt,
    started_at as start,
    -- A log that just stops leaves open whether its run did, unless another attempt followed.
    case when outcome is not null or is_followed then greatest(ended_at, started_at) end as "end",
    coalesce(outcome, case when is_followed then 'failed' else 'running' end) as outcome,
    resume_step,
    ingested_at,
    ingested_from,
    run_id,
    md5(concat_ws('|', 'attempt of log', cluster, job, attempt)) as row_id
from following
