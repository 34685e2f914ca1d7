-- Attempts in their newest known version; what ended after the knowledge time still runs.
--
-- An attempt that only Kubernetes objects tell of, without a log line, step or phase, is not
-- instrumented: what its gang did is not observed [0.7].
--
-- Of pods that vanished between two looks nobody knows the end; the last line of their logs shows that
-- they still lived then [0.3 c].
--
-- attempt_id stands for the long key in the tables of steps; it holds for one build only.
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
    select cluster, job, attempt
    from gathered.steps
    semi join observed.attempts_kube using (cluster, job, attempt)
    union
    select cluster, job, attempt from gathered.phases
),

silent as (
    select cluster, job, attempt
    from observed.attempts_kube
    anti join spoken using (cluster, job, attempt)
    anti join raw.attempts using (cluster, job, attempt)
),

-- What Kubernetes knows of attempts with pods that vanished: the end is when one was seen last.
vanished as (
    select
        cluster,
        job,
        attempt,
        max(coalesce(released_at, last_seen)) as last_known_at,
        max(gone_by) as gone_by
    from observed.pods_kube
    anti join raw.attempts using (cluster, job, attempt)
    group by cluster, job, attempt
    having count(gone_by) > 0
),

last_lines as (
    select cluster, job, attempt, max(ended_at) as spoke_at
    from observed.log_attempts
    group by cluster, job, attempt
),

spoke as (
    select vanished.*, least(last_lines.spoke_at, vanished.gone_by) as spoke_until
    from vanished
    inner join last_lines using (cluster, job, attempt)
    where last_lines.spoke_at > vanished.last_known_at
),

lasting as (
    select
        newest.* replace (
            case
                when spoke.spoke_until is null then newest."end"
                else least(spoke.spoke_until, next.start)
            end as "end"
        )
    from newest
    left join spoke
        on
            newest.cluster = spoke.cluster
            and newest.job = spoke.job
            and newest.attempt = spoke.attempt
            and newest."end" = spoke.last_known_at
    left join newest as next
        on
            newest.cluster = next.cluster
            and newest.job = next.job
            and cast(newest.attempt as bigint) + 1 = next.attempt
)

select
    cast(
        row_number() over (order by lasting.cluster, lasting.job, lasting.attempt) as integer
    ) as attempt_id,
    lasting.cluster,
    lasting.job,
    lasting.attempt,
    lasting.start as started_at,
    known(lasting."end") as ended_at,
    case
        when lasting."end" > getvariable('as_of') then 'running'
        else coalesce(lasting.outcome, 'running')
    end as outcome,
    coalesce(lasting.resume_step, fact.resume_step) as resume_step,
    lasting.min_members,
    lasting.restart_kind,
    lasting.world,
    lasting.config,
    job.is_instrumented and silent.attempt is null as is_instrumented
from lasting
-- An attempt belongs to a job; without the job nothing says what its time was for.
inner join staged.jobs as job on lasting.cluster = job.cluster and lasting.job = job.job
left join silent
    on
        lasting.cluster = silent.cluster
        and lasting.job = silent.job
        and lasting.attempt = silent.attempt
left join observed.attempt_facts_log as fact
    on
        lasting.cluster = fact.cluster
        and lasting.job = fact.job
        and lasting.attempt = fact.attempt
