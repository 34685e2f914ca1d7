-- Goodput of a job as Google's ml-goodput-measurement defines it [1.10]: productive step time over
-- the time from the job's first start to its end, or to the knowledge time while it runs.
--
-- The library's own arithmetic, with what follows from it: a step takes from its start to the next
-- step's start if the numbers follow each other; a repeated step drops the earlier records from it
-- on; only a logged end of the job ends its last step; the first step's excess over the mean of
-- the others is start-up; saves of one step are averaged and subtracted wherever they happened;
-- custom events count only if they lie inside one step. Jobs that did not use the library are read
-- as if they had: step records spread evenly over their positions, and the step in flight at the
-- end of an attempt had started. The whole job counts, whatever the window. Seconds; no weight, no
-- nodes.
--
-- grain: cluster, job

with

-- Jobs are numbered, since the long key would go through all windows.
library_events as (
    select
        job.rowid as job_id,
        events.*
    from observed.tracker_attempt_events as events
    inner join observed.tracker_owners as owners using (cluster, recorder, job, attempt)
    inner join staged.jobs as job
        on events.cluster = job.cluster and owners.owner_job = job.job
    where events.recorder = 'ml_goodput'
),

library_jobs as (
    select
        job_id,
        min(occurred_at) filter (where event = 'job_start') as started_at,
        max(occurred_at) filter (where event = 'job_end') as ended_at
    from library_events
    group by job_id
),

program_starts as (
    select
        cluster,
        job,
        min(running_at) as started_at
    from staged.pods
    where job is not null
    group by cluster, job
),

first_attempts as (
    select
        cluster,
        job,
        min(started_at) as started_at
    from staged.attempts
    group by cluster, job
),

jobs as (
    select
        job.rowid as job_id,
        job.cluster,
        job.job,
        library.job_id is not null as is_library,
        coalesce(
            library.started_at, program.started_at, attempt.started_at
        ) as started_at,
        case
            when library.job_id is not null then library.ended_at
            when job.state = 'succeeded' then job.ended_at
        end as logged_end_at,
        case
            when library.job_id is not null then coalesce(library.ended_at, getvariable('as_of'))
            else coalesce(job.ended_at, getvariable('as_of'))
        end as ended_at
    from staged.jobs as job
    left join library_jobs as library on job.rowid = library.job_id
    left join program_starts as program using (cluster, job)
    left join first_attempts as attempt using (cluster, job)
    where job.kind = 'training'
),

-- Runs of steps, cut where work was thrown away: within a run all steps follow each other.
parts as (
    select
        jobs.job_id,
        attempt.attempt,
        attempt.outcome,
        part.first,
        part.last,
        instant_of(part.started_ms) as started_at,
        instant_of(part.ended_ms) as ended_at
    from intervals.step_parts as part
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    inner join jobs using (cluster, job)
    where not jobs.is_library and not part.is_synthetic
),

-- What the library would have been told: positions first..last from started_at on.
starts as (
    select
        job_id,
        step as first,
        step as last,
        occurred_at as started_at,
        occurred_at as ended_at,
        position
    from library_events
    where event = 'step_start' and step is not null

    union all

    select
        job_id,
        first,
        last,
        started_at,
        ended_at,
        0 as position
    from parts

    union all

    -- The step in flight when an attempt ended.
    select
        job_id,
        max(last) + 1 as first,
        max(last) + 1 as last,
        max(ended_at) as started_at,
        max(ended_at) as ended_at,
        1 as position
    from parts
    where outcome <> 'succeeded'
    group by job_id, attempt
),

followed as (
    select
        starts.*,
        coalesce(starts.first <= lag(starts.last) over in_job, false) as is_repeat,
        lead(starts.first) over in_job as next_first,
        coalesce(lead(starts.started_at) over in_job, jobs.logged_end_at) as next_started_at
    from starts
    inner join jobs using (job_id)
    window in_job as (partition by starts.job_id order by starts.started_at, starts.position)
),

segmented as (
    select
        *,
        -- A sum, since a window with a filter takes quadratic time in DuckDB 2.0.
        cast(sum(case when is_repeat then 1 else 0 end) over in_job as bigint) as segment,
        row_number() over in_job as ordinal
    from followed
    window in_job as (partition by job_id order by started_at, position)
),

cuts as (
    select
        job_id,
        segment - 1 as segment,
        first as cut_step
    from segmented
    where is_repeat
),

custom_events as (
    select
        job_id,
        occurred_at as started_at,
        lead(occurred_at) over same_type as ended_at,
        event
    from library_events
    where event in ('custom_start', 'custom_end')
    window same_type as (partition by job_id, detail order by position)

    union all

    select
        jobs.job_id,
        phase.started_at,
        phase.ended_at,
        'custom_start' as event
    from staged.phases as phase
    inner join jobs using (cluster, job)
    where not jobs.is_library and phase.kind in ('eval', 'stall', 'data_wait')
),

-- Steps follow each other, so only the last one that began before an event can hold it.
inside as (
    select
        segmented.job_id,
        segmented.ordinal,
        sum(ms_of(custom.ended_at) - ms_of(custom.started_at)) as custom_ms
    from custom_events as custom
    asof inner join segmented
        on
            custom.job_id = segmented.job_id
            and custom.started_at >= segmented.started_at
    where custom.event = 'custom_start' and segmented.next_started_at >= custom.ended_at
    group by segmented.job_id, segmented.ordinal
),

timed as (
    select
        segmented.job_id,
        segmented.segment,
        segmented.ordinal,
        segmented.first,
        segmented.last - segmented.first + 1 as position_count,
        cuts.cut_step,
        -- The last position runs on to the next record, if that is the step which follows.
        case
            when
                segmented.next_started_at is not null
                and coalesce(segmented.next_first, segmented.last + 1) = segmented.last + 1
                then
                    ms_of(segmented.next_started_at) - ms_of(segmented.started_at)
                    - coalesce(inside.custom_ms, 0)
        end as followed_ms,
        (ms_of(segmented.ended_at) - ms_of(segmented.started_at))
        / (segmented.last - segmented.first + 1) as position_ms
    from segmented
    left join cuts using (job_id, segment)
    left join inside using (job_id, ordinal)
),

counted as (
    select
        *,
        case
            when cut_step < first + position_count then greatest(0, cut_step - first)
            else position_count
        end as kept_count,
        coalesce(followed_ms, (position_count - 1) * position_ms) as all_ms,
        position_count - case when followed_ms is null then 1 else 0 end as timed_count,
        case when position_count = 1 then followed_ms else position_ms end as first_ms
    from timed
),

segments as (
    select
        job_id,
        segment,
        sum(
            case
                when kept_count = position_count then all_ms
                else kept_count * position_ms
            end
        ) as kept_ms,
        sum(all_ms) as all_ms,
        sum(timed_count) as timed_count,
        min_by(first_ms, ordinal) as first_ms,
        min_by(kept_count, ordinal) as first_kept_count
    from counted
    group by job_id, segment
),

-- The excess of a segment's first step belongs to start-up, if that step is kept at all.
productive as (
    select
        job_id,
        sum(
            kept_ms - case
                when first_kept_count > 0 and timed_count > 1
                    then greatest(
                        0, coalesce(first_ms - (all_ms - first_ms) / (timed_count - 1), 0)
                    )
                else 0
            end
        ) as productive_ms
    from segments
    group by job_id
),

saves as (
    select
        job_id,
        concat(step) as save_key,
        1000 * duration_s as blocking_ms
    from library_events
    where event = 'save'

    union all

    select
        jobs.job_id,
        case
            when checkpoint.step is null then concat('at ', ms_of(phase.started_at))
            else concat('step ', checkpoint.step)
        end as save_key,
        ms_of(phase.ended_at) - ms_of(phase.started_at) as blocking_ms
    from staged.phases as phase
    inner join jobs using (cluster, job)
    left join staged.checkpoints as checkpoint
        on
            phase.cluster = checkpoint.cluster
            and phase.job = checkpoint.job
            and phase.attempt = checkpoint.attempt
            and phase.started_at = checkpoint.write_started_at
    where not jobs.is_library and phase.kind = 'ckpt_save'
),

averaged_saves as (
    select
        job_id,
        avg(blocking_ms) as blocking_ms
    from saves
    group by job_id, save_key
),

saving as (
    select
        job_id,
        sum(blocking_ms) as saving_ms
    from averaged_saves
    group by job_id
),

measured as (
    select
        jobs.cluster,
        jobs.job,
        greatest(
            0, coalesce(productive.productive_ms, 0) - coalesce(saving.saving_ms, 0)
        ) / 1000 as numerator,
        (ms_of(jobs.ended_at) - ms_of(jobs.started_at)) / 1000 as denominator
    from jobs
    left join productive using (job_id)
    left join saving using (job_id)
    where jobs.started_at is not null
)

select
    cluster,
    job,
    cast(numerator as double) as numerator,
    cast(denominator as double) as denominator,
    cast(numerator / nullif(denominator, 0) as double) as value
from measured
