-- Attempts in their newest known version; what ended after the knowledge time still runs.
--
-- An attempt that only Kubernetes objects tell of, without a log line, step or phase, is not
-- instrumented: what its gang did is not observed [0.7].
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
),

spoken as (
    select cluster, job, attempt from observed.log_attempts
    union
    select cluster, job, attempt from gathered.steps
    union
    select cluster, job, attempt from gathered.phases
),

silent as (
    select cluster, job, attempt
    from observed.attempts_kube
    anti join spoken using (cluster, job, attempt)
    anti join raw.attempts using (cluster, job, attempt)
)

select
    newest.cluster,
    newest.job,
    newest.attempt,
    newest.start as started_at,
    known(newest."end") as ended_at,
    case
        when newest."end" > getvariable('as_of') then 'running'
        else coalesce(newest.outcome, 'running')
    end as outcome,
    coalesce(newest.resume_step, fact.resume_step) as resume_step,
    newest.min_members,
    newest.restart_kind,
    newest.world,
    newest.config,
    job.is_instrumented and silent.attempt is null as is_instrumented
from newest
-- An attempt belongs to a job; without the job nothing says what its time was for.
inner join staged.jobs as job on newest.cluster = job.cluster and newest.job = job.job
left join silent
    on
        newest.cluster = silent.cluster
        and newest.job = silent.job
        and newest.attempt = silent.attempt
left join observed.attempt_facts_log as fact
    on
        newest.cluster = fact.cluster
        and newest.job = fact.job
        and newest.attempt = fact.attempt
