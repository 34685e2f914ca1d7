-- Imported steps and phases of attempts that nothing else tells of: without a row of attempts, and of jobs, they
-- are in no number.
--
-- grain: cluster, job, attempt, table_name

with known as (
    select distinct cluster, job, attempt
    from gathered.attempts
    semi join gathered.jobs using (cluster, job)
),

-- There may be many millions of steps: they are counted by attempt before any is looked up.
told as (
    select cluster, job, attempt, 'steps' as table_name, count(*) as row_count
    from raw.steps
    group by cluster, job, attempt

    union all

    select cluster, job, attempt, 'step_logs', count(*)
    from raw.step_logs
    group by cluster, job, attempt

    union all

    select cluster, job, attempt, 'phases', count(*)
    from raw.phases
    group by cluster, job, attempt
)

select cluster, job, attempt, table_name, row_count
from told
anti join known using (cluster, job, attempt)
