-- Bad ends of attempts inside the window, with what their retry came to: the next attempt of the lineage.
--
-- It helped if it succeeded or got past the last step of the attempt before; where no steps are seen, if
-- it did not end with the same class. One that goes on and got no further yet is undecided.
--
-- grain: cluster, job, attempt
-- nothing without: intervals.attribution

with reached as (
    select attempt_id, max(last) as last_step
    from intervals.step_runs
    group by attempt_id
),

held as (
    select cluster, job, attempt, sum(unit_ms) as unit_ms
    from rollups.gpu_time
    where cluster = member and is_allocated
    group by cluster, job, attempt
)

select
    attempt.cluster,
    attempt.job,
    attempt.attempt,
    attribution.class,
    retry.job is not null
    and not (retry.ended_ms is null and coalesce(after_it.last_step <= before_it.last_step, true))
        as is_decided,
    case
        when retry.outcome = 'succeeded' then true
        when after_it.last_step is not null
            then after_it.last_step > coalesce(before_it.last_step, -1)
        when before_it.last_step is not null or retry.is_instrumented then false
        else again.class is distinct from attribution.class
    end as is_helped,
    coalesce(held.unit_ms, 0) as unit_ms
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
left join held
    on
        retry.cluster = held.cluster
        and retry.job = held.job
        and retry.attempt = held.attempt
where
    attempt.ended_ms >= getvariable('window_start_ms')
    and attempt.ended_ms < getvariable('window_end_ms')
