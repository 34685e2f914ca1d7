-- Per failure class: how often its interruptions were retried, how often that helped, and what the
-- retries that did not help held.
--
-- A retry is the next attempt of the lineage, if it has ended or got further. It helped if it
-- succeeded or got past the last step of the attempt before; where no steps are seen, if it did not
-- end with the same class.
--
-- grain: cluster, class

with reached as (
    select attempt_id, max(last) as last_step
    from intervals.step_runs
    group by attempt_id
),

retries as (
    select
        attempt.cluster,
        attribution.class,
        retry.job,
        retry.attempt,
        retry.job is not null as is_retried,
        retry.ended_ms is null and coalesce(after_it.last_step <= before_it.last_step, true)
            as is_undecided,
        case
            when retry.outcome = 'succeeded' then true
            when after_it.last_step is not null
                then after_it.last_step > coalesce(before_it.last_step, -1)
            when before_it.last_step is not null or retry.is_instrumented then false
            else again.class is distinct from attribution.class
        end as is_helped
    from intervals.attribution as attribution
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    left join intervals.lineage_attempts as retry
        on
            attempt.cluster = retry.cluster
            and attempt.job = retry.prev_job
            and attempt.attempt = retry.prev_attempt
    left join reached as before_it on attempt.attempt_id = before_it.attempt_id
    left join reached as after_it on retry.attempt_id = after_it.attempt_id
    left join intervals.attribution as again
        on
            retry.cluster = again.cluster
            and retry.job = again.job
            and retry.attempt = again.attempt
    where
        attempt.ended_ms >= getvariable('window_start_ms')
        and attempt.ended_ms < getvariable('window_end_ms')
),

held as (
    select cluster, job, attempt, sum(unit_ms) as unit_ms
    from rollups.gpu_time
    where cluster = member and is_allocated
    group by cluster, job, attempt
)

select
    retries.cluster,
    retries.class,
    taxonomy.domain,
    taxonomy.retry_default,
    count(*) as failure_count,
    count(*) filter (where retries.is_retried and not retries.is_undecided) as retry_count,
    count(*) filter (
        where retries.is_retried and not retries.is_undecided and retries.is_helped
    ) as helped_count,
    coalesce(
        sum(held.unit_ms) filter (where not retries.is_undecided and not retries.is_helped), 0
    ) / 5040 / 3600000 as wasted_gpu_hours
from retries
inner join catalog.taxonomy as taxonomy using (class)
left join held using (cluster, job, attempt)
group by retries.cluster, retries.class, taxonomy.domain, taxonomy.retry_default
