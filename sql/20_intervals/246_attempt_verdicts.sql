-- What the time around the steps of each attempt is charged to, and whether it did any step at all.
--
-- carry_*: the cause of start-up, init and restore: the end of the previous attempt of the lineage,
-- else base.overhead [1.8]. own_*: the cause of this attempt's end. An attempt that ended badly
-- without a step is a failed start, or part of a restart loop of application errors [1.4].
--
-- grain: cluster, job, attempt

with caused as (
    select
        attempt.cluster,
        attempt.job,
        attempt.attempt,
        attempt.lineage,
        attempt.attempt_order,
        coalesce(before.class, 'base.overhead') as carry_cause,
        case when before.class is not null then attempt.prev_job end as carry_job,
        case when before.class is not null then attempt.prev_attempt end as carry_attempt,
        own.class as own_cause,
        own.confidence as own_confidence,
        own.class is not null and pace.record_count = 0 and attempt.is_instrumented as is_zero,
        coalesce(taxonomy.domain, '') = 'app' as is_app
    from intervals.lineage_attempts as attempt
    inner join intervals.attempt_pace as pace using (attempt_id)
    left join intervals.attribution as before
        on
            attempt.cluster = before.cluster
            and attempt.prev_job = before.job
            and attempt.prev_attempt = before.attempt
    left join intervals.attribution as own
        on
            attempt.cluster = own.cluster
            and attempt.job = own.job
            and attempt.attempt = own.attempt
    left join catalog.taxonomy as taxonomy on own.class = taxonomy.class
),

grouped as (
    select
        *,
        sum(case when is_zero and is_app then 0 else 1 end) over in_lineage as breaks_before
    from caused
    window in_lineage as (partition by cluster, lineage order by attempt_order)
),

-- Within a run of consecutive zero-step application failures, each job is a loop of its own.
looped as (
    select
        *,
        sum(case when job is distinct from prev_job then 1 else 0 end) over (
            partition by cluster, lineage, breaks_before, is_zero and is_app
            order by attempt_order
        ) as job_run
    from (
        select
            *,
            lag(job) over (
                partition by cluster, lineage, breaks_before, is_zero and is_app
                order by attempt_order
            ) as prev_job
        from grouped
    )
)

select
    cluster,
    job,
    attempt,
    carry_cause,
    carry_job,
    carry_attempt,
    own_cause,
    own_confidence,
    is_zero,
    case
        when is_zero and is_app and count(*) over (
            partition by cluster, lineage, breaks_before, is_zero and is_app, job_run
        ) >= getvariable('loop_min') then 'A.restart_loop'
        else 'A.lost.failed_start'
    end as zero_state
from looped
