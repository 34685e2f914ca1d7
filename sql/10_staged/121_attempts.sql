-- Attempts in their newest known version; what ended after the knowledge time still runs.
--
-- grain: cluster, job, attempt

with newest as (
    select *
    from gathered.attempts
    where start <= getvariable('as_of')
    qualify row_number() over (
        partition by cluster, job, attempt
        order by ingested_at desc nulls last, run_id desc nulls last, row_id desc nulls last
    ) = 1
)

select
    newest.cluster,
    newest.job,
    newest.attempt,
    newest.start as started_at,
    known(newest."end") as ended_at,
    case when newest."end" > getvariable('as_of') then 'running' else coalesce(newest.outcome, 'running') end as outcome,
    newest.resume_step,
    newest.min_members,
    newest.restart_kind,
    newest.world,
    newest.config
from newest
-- An attempt belongs to a job; without the job nothing says what its time was for.
semi join staged.jobs using (cluster, job)
