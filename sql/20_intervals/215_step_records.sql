-- Step records in order, clamped into their attempt, with what came before each [0.3, 2.5].
--
-- record_order counts from 1 in the attempt. position_ms is the whole time per position. cut_to is
-- set where the counter went back: positions above it are discarded before this record. Records of
-- one run follow each other without a gap in time or position.
--
-- grain: attempt_id, record_order

with timed as (
    select
        attempt.attempt_id,
        step.first,
        step.last,
        coalesce(step.world, attempt.world, -1) as world,
        coalesce(step.config, attempt.config, '') as config,
        attempt.started_ms as attempt_started_ms,
        coalesce(attempt.ended_ms, getvariable('forever_ms')) as attempt_ended_ms,
        attempt.resume_step,
        epoch_ms(step.started_at) as given_start_ms,
        epoch_ms(step.ended_at) as given_end_ms
    from staged.steps as step
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
),

started as (
    select
        *,
        coalesce(
            given_start_ms,
            lag(least(given_end_ms, attempt_ended_ms)) over (
                partition by attempt_id order by given_end_ms, last, first, given_start_ms
            ),
            given_end_ms
        ) as start_ms
    from timed
),

clamped as (
    select
        attempt_id,
        first,
        last,
        world,
        config,
        resume_step,
        greatest(start_ms, attempt_started_ms) as started_ms,
        least(given_end_ms, attempt_ended_ms) as ended_ms,
        given_end_ms
    from started
    where least(given_end_ms, attempt_ended_ms) > greatest(start_ms, attempt_started_ms)
),

ordered as (
    select
        *,
        row_number() over in_attempt as record_order,
        lag(last) over in_attempt as prev_last,
        lag(ended_ms) over in_attempt as prev_ended_ms
    from clamped
    window in_attempt as (partition by attempt_id order by given_end_ms, last, first, started_ms)
)

select
    attempt_id,
    record_order,
    first,
    last,
    started_ms,
    ended_ms,
    (ended_ms - started_ms) // (last - first + 1) as position_ms,
    prev_last,
    prev_ended_ms,
    case when coalesce(prev_last, resume_step) >= first then first - 1 end as cut_to,
    world,
    config
from ordered
