-- Attempts that foreign recorders saw: from one (re)start of a job to the next.
--
-- resiliency: every node of a gang writes its own start, so a new attempt begins when a node rank
-- starts again, or when any other event came since the last start. ml_goodput: every start of the
-- job is an attempt. Repeated steps never make an attempt: a job that resumes exactly where it
-- stopped repeats none. `next_at` is null for the last attempt of a job; `log_ended_at` is the last
-- instant that the job's events speak of.
--
-- grain: cluster, recorder, job, attempt

with recursive

known as (
    select
        *,
        event in ('job_started', 'job_start') as is_start
    from observed.tracker_events
    where event <> 'user_scheduled'
),

-- Starts with nothing in between form one block.
blocked as (
    select
        cluster,
        recorder,
        job,
        position,
        node_rank,
        is_start,
        -- A sum, since a window with a filter takes quadratic time in DuckDB 2.0.
        cast(sum(case when is_start then 0 else 1 end) over (
            partition by cluster, recorder, job order by position
        ) as bigint) as block
    from known
),

starts as (
    select
        cluster,
        recorder,
        job,
        block,
        position,
        case
            when recorder = 'ml_goodput' then lag(position) over same_block
            else lag(position) over same_rank
        end as repeats_position
    from blocked
    where is_start
    window
        same_block as (partition by cluster, recorder, job, block order by position),
        same_rank as (partition by cluster, recorder, job, block, node_rank order by position)
),

-- Within a block: from a first start to the first one whose rank has started since.
openings as (
    select
        cluster,
        recorder,
        job,
        block,
        min(position) as position
    from starts
    group by cluster, recorder, job, block

    union all

    select
        openings.cluster,
        openings.recorder,
        openings.job,
        openings.block,
        min(starts.position) as position
    from openings
    inner join starts
        on
            openings.cluster = starts.cluster
            and openings.recorder = starts.recorder
            and openings.job = starts.job
            and openings.block = starts.block
            and openings.position <= starts.repeats_position
    group by
        openings.cluster, openings.recorder, openings.job, openings.block, openings.position
),

-- A log that was cut off at its beginning starts inside an attempt.
all_openings as (
    select
        cluster,
        recorder,
        job,
        position
    from openings

    union

    select
        cluster,
        recorder,
        job,
        min(position) as position
    from known
    group by cluster, recorder, job
),

log_ends as (
    select
        cluster,
        recorder,
        job,
        -- A span that was logged after the job's end says nothing about how long it lasted.
        case
            when max_by(event, position) = 'job_end' then max(occurred_at)
            else max(
                occurred_at
                + to_milliseconds(coalesce(cast(round(duration_s * 1000) as bigint), 0))
            )
        end as log_ended_at
    from known
    group by cluster, recorder, job
)

select
    all_openings.cluster,
    all_openings.recorder,
    all_openings.job,
    row_number() over by_time as attempt,
    all_openings.position as first_position,
    known.occurred_at as started_at,
    lead(known.occurred_at) over by_time as next_at,
    log_ends.log_ended_at
from all_openings
inner join known using (cluster, recorder, job, position)
inner join log_ends using (cluster, recorder, job)
window
    by_time as (
        partition by all_openings.cluster, all_openings.recorder, all_openings.job
        order by all_openings.position
    )
