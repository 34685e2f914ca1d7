-- Steps of ml_goodput jobs as records of positions first..last, from the starts it logged.
--
-- A step lasts until the next one starts. The last step of an attempt is in flight when the
-- attempt ends, unless the job's end is logged or the next attempt goes on right after it: then it
-- took what a step of this attempt usually takes, and no more than there was time for. Jobs that
-- log every n-th step cover n positions a record. `excess_ms` is what the first record of an
-- attempt takes beyond the pace of the others: this recorder's jobs compile inside their first
-- step.
--
-- grain: cluster, recorder, job, attempt, started_at

with

step_starts as (
    select
        cluster,
        recorder,
        job,
        attempt,
        step,
        position,
        occurred_at,
        next_at
    from observed.tracker_attempt_events
    where event = 'step_start' and step is not null
    -- Several hosts may log the same start: the first one counts.
    qualify
        lag(step) over (partition by cluster, recorder, job, attempt order by position)
        is distinct from step
),

followed as (
    select
        *,
        lead(step) over in_attempt as next_step,
        lead(occurred_at) over in_attempt as next_step_at,
        row_number() over in_attempt as ordinal
    from step_starts
    window in_attempt as (partition by cluster, recorder, job, attempt order by position)
),

measured as (
    select
        *,
        next_step - step as position_count,
        ms_of(next_step_at) - ms_of(occurred_at) as duration_ms
    from followed
),

paces as (
    select
        cluster,
        recorder,
        job,
        attempt,
        quantile_disc(position_count, 0.5) filter (where position_count > 0) as stride,
        quantile_disc(duration_ms // position_count, 0.5) filter (
            where position_count > 0
        ) as pace_ms,
        quantile_disc(duration_ms // position_count, 0.5) filter (
            where position_count > 0 and ordinal > 1
        ) as later_pace_ms,
        min_by(step, ordinal) as first_step
    from measured
    group by cluster, recorder, job, attempt
),

job_paces as (
    select
        cluster,
        recorder,
        job,
        quantile_disc(pace_ms, 0.5) as pace_ms
    from paces
    group by cluster, recorder, job
),

attempts as (
    select
        paces.cluster,
        paces.recorder,
        paces.job,
        paces.attempt,
        coalesce(paces.stride, 1) as stride,
        coalesce(paces.pace_ms, job_paces.pace_ms) as pace_ms,
        paces.later_pace_ms,
        lead(paces.first_step) over (
            partition by paces.cluster, paces.recorder, paces.job order by paces.attempt
        ) as resumed_step
    from paces
    inner join job_paces using (cluster, recorder, job)
),

job_ends as (
    select
        cluster,
        recorder,
        job,
        max(occurred_at) as job_ended_at
    from observed.tracker_events
    where event = 'job_end'
    group by cluster, recorder, job
),

ended as (
    select
        measured.cluster,
        measured.recorder,
        measured.job,
        measured.attempt,
        measured.ordinal,
        measured.step as first,
        coalesce(measured.next_step, measured.step + attempts.stride) - 1 as last,
        measured.occurred_at as started_at,
        attempts.later_pace_ms,
        case
            when measured.next_step is not null then measured.next_step_at
            when measured.next_at is null
                then
                    least(
                        job_ends.job_ended_at,
                        case
                            when job_ends.job_ended_at is not null
                                then
                                    measured.occurred_at
                                    + to_milliseconds(attempts.stride * attempts.pace_ms)
                        end
                    )
            when attempts.resumed_step = measured.step + attempts.stride then least(
                measured.next_at,
                measured.occurred_at + to_milliseconds(attempts.stride * attempts.pace_ms)
            )
        end as ended_at
    from measured
    inner join attempts using (cluster, recorder, job, attempt)
    left join job_ends using (cluster, recorder, job)
)

select
    cluster,
    recorder,
    job,
    attempt,
    first,
    last,
    started_at,
    ended_at,
    case
        when ordinal = 1 and ended_at is not null
            then
                greatest(
                    0,
                    coalesce(
                        ms_of(ended_at) - ms_of(started_at)
                        - (last - first + 1) * later_pace_ms,
                        0
                    )
                )
        else 0
    end as excess_ms
from ended
-- A step that starts again without a restart never ended the first time.
where last >= first
