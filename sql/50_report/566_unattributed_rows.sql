-- Imported steps and phases of attempts that nothing else tells of: without a row of attempts, and of jobs, they
-- are in no number.
--
-- grain: cluster, job, attempt, table_name

with known as (
    select distinct cluster, job, attempt
    from gathered.attempts
    semi join gathered.jobs using (cluster, job)
),

-- There may be many millions of steps; the few columns that are read of them are nearly constant.
unknown as (
    select cluster, job, attempt, 'steps' as table_name, count(*) as row_count
    from raw.steps
    anti join known using (cluster, job, attempt)
    group by cluster, job, attempt

    union all

    select cluster, job, attempt, 'step_logs', count(*)
    from raw.step_logs
    anti join known using (cluster, job, attempt)
    group by cluster, job, attempt

    union all

    select cluster, job, attempt, 'phases', count(*)
    from raw.phases
    anti join known using (cluster, job, attempt)
    group by cluster, job, attempt
)

select cluster, job, attempt, table_name, row_count from unknown
