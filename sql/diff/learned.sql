-- Facts that the earlier knowledge time did not have: ends, outcomes, commits and defects.

with ends as (
    select
        after.cluster,
        after.job,
        concat('attempt ', after.attempt, ' ended ', after.outcome) as fact,
        after.ended_at as occurred_at
    from later.staged.attempts as after
    left join earlier.staged.attempts as before using (cluster, job, attempt)
    where after.ended_at is not null
        and (before.ended_at is distinct from after.ended_at or before.outcome is distinct from after.outcome)
),

job_ends as (
    select after.cluster, after.job, concat('job ', after.state) as fact, after.ended_at as occurred_at
    from later.staged.jobs as after
    left join earlier.staged.jobs as before using (cluster, job)
    where before.state is distinct from after.state
),

-- A log, a tracker and a listing may each tell of a checkpoint, at instants of their own.
checkpoints_before as (
    select cluster, job, attempt, step, min(committed_at) as committed_at, min(invalid_at) as invalid_at
    from earlier.staged.checkpoints
    group by cluster, job, attempt, step
),

checkpoints_after as (
    select cluster, job, attempt, step, min(committed_at) as committed_at, min(invalid_at) as invalid_at
    from later.staged.checkpoints
    group by cluster, job, attempt, step
),

checkpoints as (
    select
        after.cluster,
        after.job,
        unnest([
            case when before.committed_at is null and after.committed_at is not null
                then concat('checkpoint ', after.step, ' committed') end,
            case when before.invalid_at is null and after.invalid_at is not null
                then concat('checkpoint ', after.step, ' proved bad') end
        ]) as fact,
        unnest([after.committed_at, after.invalid_at]) as occurred_at
    from checkpoints_after as after
    left join checkpoints_before as before
        on after.cluster = before.cluster
        and after.job = before.job
        and after.attempt is not distinct from before.attempt
        and after.step = before.step
),

facts as (
    select * from ends
    union all
    select * from job_ends
    union all
    select * from checkpoints where fact is not null
)

select cluster, job, fact, occurred_at
from facts
order by occurred_at, cluster, job, fact
