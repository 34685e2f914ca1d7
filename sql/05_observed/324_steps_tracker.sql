-- Step records that foreign recorders prove.
--
-- ml_goodput logs step starts. resiliency logs no steps: what lies between a load or save and the
-- next save is one record of all positions in between.
--
-- grain: cluster, job, attempt, start

with

checkpoint_events as (
    select
        cluster,
        recorder,
        job,
        attempt,
        position,
        occurred_at,
        step,
        event
    from observed.tracker_attempt_events
    where event in ('checkpoint_loaded', 'checkpoint_saved')
),

saved as (
    select
        *,
        lag(step) over in_attempt as previous_step,
        lag(occurred_at) over in_attempt as previous_at
    from checkpoint_events
    window in_attempt as (partition by cluster, recorder, job, attempt order by position)
),

-- An attempt that saved without a load goes on from the newest save before it, or from nothing.
based as (
    select
        saved.cluster,
        saved.recorder,
        saved.job,
        saved.attempt,
        saved.step,
        coalesce(saved.previous_at, ends.started_at) as started_at,
        saved.occurred_at as ended_at,
        coalesce(
            saved.previous_step,
            (
                select max(earlier.step)
                from checkpoint_events as earlier
                where
                    earlier.cluster = saved.cluster
                    and earlier.recorder = saved.recorder
                    and earlier.job = saved.job
                    and earlier.attempt < saved.attempt
                    and earlier.step < saved.step
            ),
            0
        ) as base_step
    from saved
    inner join observed.tracker_attempt_ends as ends using (cluster, recorder, job, attempt)
    where saved.event = 'checkpoint_saved'
),

records as (
    select
        cluster,
        recorder,
        job,
        attempt,
        base_step + 1 as first,
        step as last,
        started_at,
        ended_at
    from based
    where step > base_step

    union all

    select
        cluster,
        recorder,
        job,
        attempt,
        first,
        last,
        started_at + to_milliseconds(excess_ms) as started_at,
        ended_at
    from observed.tracker_step_spans
    where ended_at is not null
)

select
    records.cluster,
    owners.owner_job as job,
    owners.owner_attempt as attempt,
    records.first,
    records.last,
    records.started_at as start,
    records.ended_at as "end",
    sources.ingested_at,
    sources.ingested_from,
    sources.run_id,
    md5(
        concat_ws('|', sources.row_id, 'step', records.attempt, ms_of(records.started_at))
    ) as row_id
from records
inner join observed.tracker_owners as owners using (cluster, recorder, job, attempt)
inner join observed.tracker_sources as sources using (cluster, recorder, job)
where owners.owner_attempt is not null
