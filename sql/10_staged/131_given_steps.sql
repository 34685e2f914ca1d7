-- Step records as they were given: positions first..last done over
-- [started_at, ended_at), clocks corrected [0.6, 2.1].
--
-- A record that was reported twice stands here twice: staged.steps has each once, and
-- intervals.step_records in order and clamped into their attempts.
--
-- grain: row
-- kind: view

with from_text as (
    select
        cluster,
        job,
        attempt,
        step as first,
        step as last,
        lag(logged_at) over (
            partition by cluster, job, attempt, row_id order by line_number
        ) as started_at,
        logged_at as ended_at,
        step
    from staged.log_line_times
    qualify step is not null
),

all_records as (
    select
        cluster,
        job,
        attempt,
        coalesce(first, step) as first,
        coalesce(last, step) as last,
        start as started_at,
        "end" as ended_at,
        world,
        config
    from gathered.steps

    union all by name

    select * exclude (step) from from_text
),

corrected as (
    select
        attempt.attempt_id,
        record.* replace (
            record.started_at - to_milliseconds(coalesce(clock.offset_ms, 0)) as started_at,
            record.ended_at - to_milliseconds(coalesce(clock.offset_ms, 0)) as ended_at
        )
    from all_records as record
    inner join staged.attempts as attempt using (cluster, job, attempt)
    left join staged.clock_offsets as clock using (cluster, job, attempt)
)

select
    attempt_id,
    cluster,
    job,
    attempt,
    first,
    last,
    started_at,
    ended_at,
    world,
    config
from corrected
-- The view outlives the session's variables: the knowledge time is read from the build's record.
where ended_at <= (select as_of from meta.build)
