-- Attempts whose imported steps ended more than a day before the first pod of their job was bound: they are in no
-- number. Look at their start and end: seconds since the start of a job are no instants.
--
-- grain: row
-- severity: warn

with bound as (
    select cluster, job, min(bound_at) - interval 1 day as before_pods
    from staged.pods
    where job is not null
    group by cluster, job
),

paced as (
    select attempt.cluster, attempt.job, attempt.attempt, pace.record_count, pace.last_ended_ms, bound.before_pods
    from intervals.attempt_pace as pace
    inner join staged.attempts as attempt using (attempt_id)
    inner join bound using (cluster, job)
),

-- Steps from before their attempt are in no record: only attempts without any record are looked up.
lost as (
    select step.cluster, step.job, step.attempt, count(*) as step_count, max(step."end") as last_ended_at
    from raw.steps as step
    inner join paced
        on
            step.cluster = paced.cluster
            and step.job = paced.job
            and step.attempt = paced.attempt
            and step."end" < paced.before_pods
    where paced.record_count = 0
    group by step.cluster, step.job, step.attempt
)

select cluster, job, attempt, record_count as step_count, instant_of(last_ended_ms) as last_ended_at
from paced
where last_ended_ms < ms_of(before_pods)

union all

select cluster, job, attempt, step_count, last_ended_at
from lost
