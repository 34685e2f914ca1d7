-- Interrupted attempts whose steps run on after their last pod ended, by more than clocks differ,
-- while no offset of their clock is known [0.6].
--
-- Steps are clamped into their attempt, so only one whose last record reaches its end is looked at.
--
-- grain: cluster, job, attempt

with clamped as (
    select attempt.cluster, attempt.job, attempt.attempt
    from intervals.lineage_attempts as attempt
    inner join intervals.attempt_pace as pace using (attempt_id)
    anti join staged.clock_offsets as clock using (cluster, job, attempt)
    where attempt.is_interrupted and pace.last_ended_ms = attempt.ended_ms
),

last_steps as (
    select cluster, job, attempt, max(ms_of(ended_at)) as last_step_ms
    from staged.given_steps
    semi join clamped using (cluster, job, attempt)
    group by cluster, job, attempt
),

last_pods as (
    select cluster, job, attempt, max(end_ms(released_at)) as released_ms
    from staged.pods
    semi join clamped using (cluster, job, attempt)
    where role = 'worker'
    group by cluster, job, attempt
)

select cluster, job, attempt, last_step_ms - released_ms as overrun_ms
from last_steps
inner join last_pods using (cluster, job, attempt)
where last_step_ms - released_ms > 1000 * getvariable('skew_s')
