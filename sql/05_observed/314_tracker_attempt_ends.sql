-- How each attempt that a foreign recorder saw came to its end.
--
-- The resiliency recorder's job_terminated tells that the processes stopped, not whether they had
-- done their work: without any other word the attempt counts as failed.
--
-- An ml_goodput attempt ends with its last sign of progress, since every step is logged; one
-- without any step, and every attempt of the resiliency recorder (which logs no steps and no
-- failures), is only known to be over when the next one starts.
--
-- grain: cluster, recorder, job, attempt

with

progress as (
    select
        cluster,
        recorder,
        job,
        attempt,
        max(coalesce(ended_at, started_at)) as progressed_at
    from observed.tracker_step_spans
    group by cluster, recorder, job, attempt
),

closings as (
    select
        cluster,
        recorder,
        job,
        attempt,
        max_by(event, position) filter (
            where event in ('job_end', 'user_terminated', 'job_terminated')
        ) as closing_event,
        max(occurred_at) filter (
            where event in ('job_end', 'user_terminated', 'job_terminated')
        ) as closed_at,
        max_by(step, position) filter (
            where event in ('checkpoint_loaded', 'restore')
        ) as loaded_step
    from observed.tracker_attempt_events
    group by cluster, recorder, job, attempt
)

select
    spans.cluster,
    spans.recorder,
    spans.job,
    spans.attempt,
    spans.started_at,
    spans.next_at,
    spans.log_ended_at,
    closings.loaded_step,
    case
        when spans.next_at is not null
            then least(spans.next_at, coalesce(progress.progressed_at, spans.next_at))
        else closings.closed_at
    end as ended_at,
    case
        when spans.next_at is not null then 'failed'
        when closings.closing_event = 'job_end' then 'succeeded'
        when closings.closing_event = 'user_terminated' then 'cancelled'
        when closings.closing_event = 'job_terminated' then 'failed'
        else 'running'
    end as outcome
from observed.tracker_spans as spans
inner join closings using (cluster, recorder, job, attempt)
left join progress using (cluster, recorder, job, attempt)
