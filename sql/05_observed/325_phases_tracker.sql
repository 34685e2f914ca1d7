-- Phases that foreign recorders name: initialisation, compilation, restores, saves, custom events.
--
-- Only the first data loading of an attempt stops training; later ones run beside the steps. Hosts
-- that log the same save are one save of their mean length, as the recorder's own library has it.
--
-- grain: cluster, job, attempt, kind, start

with

events as (
    select
        *,
        regexp_replace(event, '_(start|end)$', '') as activity,
        regexp_extract(event, '_(start|end)$', 1) as edge
    from observed.tracker_attempt_events
),

edges as (
    select
        *,
        lead(occurred_at) over same_activity as next_edge_at,
        lead(edge) over same_activity as next_edge
    from events
    where activity in ('tpu_init', 'training_prep', 'data_loading', 'custom')
    window
        same_activity as (
            partition by cluster, recorder, job, attempt, activity, detail order by position
        )
),

activities as (
    select
        cluster,
        recorder,
        job,
        attempt,
        activity,
        detail,
        occurred_at as started_at,
        next_edge_at as ended_at,
        row_number() over (
            partition by cluster, recorder, job, attempt, activity order by position
        ) as ordinal
    from edges
    where edge = 'start' and next_edge = 'end'
),

checkpoint_spans as (
    select
        cluster,
        recorder,
        job,
        attempt,
        event,
        step,
        min(occurred_at) as started_at,
        cast(round(avg(duration_s) * 1000) as bigint) as duration_ms
    from events
    where event in ('save', 'restore')
    group by cluster, recorder, job, attempt, event, step
),

loads as (
    select
        events.cluster,
        events.recorder,
        events.job,
        events.attempt,
        min(events.started_at) as started_at,
        min(events.occurred_at) as ended_at
    from events
    where events.event = 'checkpoint_loaded'
    group by events.cluster, events.recorder, events.job, events.attempt
),

phases as (
    select
        cluster,
        recorder,
        job,
        attempt,
        'init' as kind,
        started_at,
        ended_at
    from activities
    where activity in ('tpu_init', 'training_prep') or (activity = 'data_loading' and ordinal = 1)

    union

    select
        cluster,
        recorder,
        job,
        attempt,
        case
            when contains(lower(detail), 'checkpoint') then 'ckpt_save'
            when contains(lower(detail), 'data') then 'data_wait'
            else 'eval'
        end as kind,
        started_at,
        ended_at
    from activities
    where activity = 'custom'

    union

    select
        cluster,
        recorder,
        job,
        attempt,
        case event when 'save' then 'ckpt_save' else 'restore' end as kind,
        started_at,
        started_at + to_milliseconds(duration_ms) as ended_at
    from checkpoint_spans

    union

    select
        cluster,
        recorder,
        job,
        attempt,
        'restore' as kind,
        started_at,
        ended_at
    from loads

    union

    select
        cluster,
        recorder,
        job,
        attempt,
        'compile' as kind,
        started_at,
        started_at + to_milliseconds(excess_ms) as ended_at
    from observed.tracker_step_spans
    where excess_ms > 0
)

select
    phases.cluster,
    owners.owner_job as job,
    owners.owner_attempt as attempt,
    phases.kind,
    phases.started_at as start,
    max(phases.ended_at) as "end",
    sources.ingested_at,
    sources.ingested_from,
    sources.run_id,
    md5(
        concat_ws('|', sources.row_id, phases.kind, phases.attempt, ms_of(phases.started_at))
    ) as row_id
from phases
inner join observed.tracker_owners as owners using (cluster, recorder, job, attempt)
inner join observed.tracker_sources as sources using (cluster, recorder, job)
where owners.owner_attempt is not null
group by all
