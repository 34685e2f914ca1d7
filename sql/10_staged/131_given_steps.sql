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

-- One join by the long key, and no arithmetic where a clock was right.
clocks as (
    select
        attempt.attempt_id,
        attempt.cluster,
        attempt.job,
        attempt.attempt,
        to_milliseconds(nullif(clock.offset_ms, 0)) as ahead_by
    from staged.attempts as attempt
    left join staged.clock_offsets as clock using (cluster, job, attempt)
),

corrected as (
    select
        clocks.attempt_id,
        record.* replace (
            case
                when clocks.ahead_by is null then record.started_at
                else record.started_at - clocks.ahead_by
            end as started_at,
            case
                when clocks.ahead_by is null then record.ended_at
                else record.ended_at - clocks.ahead_by
            end as ended_at
        )
    from all_records as record
    inner join clocks using (cluster, job, attempt)
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
