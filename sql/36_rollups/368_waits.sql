-- Spans of which the length matters and the end may not be known yet, per measure and scope. One that
-- began before the window is looked at from the window's start on: entered_ms of it had passed then.
-- One that goes on, or that ended otherwise than by the event, is censored at span_ms.
--
-- Measures: attempt (until its failure), queue (until capacity), restart (from the start of an attempt
-- that follows another to its first step), detect (onset to detection, of
-- outages and of interruptions whose node stayed in service), isolate, drain, repair_wait, repair,
-- return (detection to cordon, cordon to drained, detection to repair, repair, its end to service)
-- and outage (all of it, from the moment the node was out).
--
-- grain: row

with attempts as (
    select
        attempt.cluster,
        'attempt' as measure,
        [
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'job_size', 'scope_value': attempt.size}
        ] as scopes,
        lineage.started_ms,
        lineage.ended_ms,
        coalesce(
            attempt.outcome in ('failed', 'preempted', 'evicted', 'spot')
            and attempt.domain <> 'user',
            false
        ) as is_event
    from rollups.attempts as attempt
    inner join intervals.lineage_attempts as lineage using (cluster, job, attempt)
),

queued as (
    select
        queue.cluster,
        'queue' as measure,
        [
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'pool', 'scope_value': queue.pool},
            {'scope': 'team', 'scope_value': job.team}
        ] as scopes,
        ms_of(queue.started_at) as started_ms,
        ms_of(queue.ended_at) as ended_ms,
        queue.ended_at is not null as is_event
    from staged.queue as queue
    left join staged.jobs as job using (cluster, job)
    where not queue.is_suspended
),

-- An attempt that ended before its first step was on the way to it until then.
restarts as (
    select
        lineage.cluster,
        'restart' as measure,
        [
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'job_size', 'scope_value': attempts.size}
        ] as scopes,
        lineage.started_ms,
        coalesce(pace.first_started_ms, lineage.ended_ms) as ended_ms,
        pace.first_started_ms is not null as is_event
    from intervals.lineage_attempts as lineage
    inner join intervals.attempt_pace as pace using (attempt_id)
    inner join rollups.attempts as attempts using (cluster, job, attempt)
    where lineage.prev_attempt is not null and lineage.is_instrumented
),

outages as (
    select
        *,
        case
            when is_unplanned
                then
                    [
                        {'scope': 'fleet', 'scope_value': ''},
                        {'scope': 'action', 'scope_value': nullif(step, 'none')},
                        {'scope': 'class', 'scope_value': class}
                    ]
            else [{'scope': 'class', 'scope_value': class}]
        end as scopes
    from rollups.repair_stages
),

stages as (
    select cluster, 'detect' as measure, scopes, onset_ms as started_ms, detected_ms as ended_ms
    from outages
    -- Silence is its own detection.
    where is_unplanned and class <> 'unk.stale'

    union all

    select
        interruption.cluster,
        'detect',
        [
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'class', 'scope_value': interruption.class}
        ],
        onset.onset_ms,
        onset.ended_ms
    from ledger.interruptions as interruption
    inner join intervals.attempt_onsets as onset using (cluster, job, attempt)
    anti join rollups.repair_stages as stage
        on
            interruption.cluster = stage.cluster
            and interruption.node_uid = stage.node_uid
            and interruption.incident = stage.incident
    where interruption.domain in ('infra', 'unknown')

    union all

    select cluster, 'isolate', scopes, detected_ms, isolated_ms
    from outages
    where isolated_ms is not null or back_ms is null

    union all

    select cluster, 'drain', scopes, isolated_ms, drained_ms
    from outages
    where drained_ms is not null

    union all

    select cluster, 'repair_wait', scopes, detected_ms, repair_started_ms
    from outages
    where repair_started_ms is not null or back_ms is null

    union all

    select cluster, 'repair', scopes, repair_started_ms, repair_ended_ms
    from outages
    where repair_started_ms is not null

    union all

    select cluster, 'return', scopes, repair_ended_ms, back_ms
    from outages
    where repair_ended_ms is not null

    union all

    select cluster, 'outage', scopes, started_ms, back_ms
    from outages
),

everything as (
    select cluster, measure, scopes, started_ms, ended_ms, is_event from attempts
    union all
    select cluster, measure, scopes, started_ms, ended_ms, is_event from queued
    union all
    select cluster, measure, scopes, started_ms, ended_ms, is_event from restarts
    union all
    -- A node may be cordoned before the trouble is detected: then that took no time.
    select
        cluster,
        measure,
        scopes,
        started_ms,
        case when ended_ms is not null then greatest(ended_ms, started_ms) end,
        true
    from stages
),

-- What the window does not know yet goes on at its end.
seen as (
    select
        cluster,
        measure,
        scopes,
        started_ms,
        least(
            coalesce(ended_ms, getvariable('forever_ms')),
            getvariable('as_of_ms'),
            getvariable('window_end_ms')
        ) as until_ms,
        coalesce(
            is_event and ended_ms < least(getvariable('window_end_ms'), getvariable('as_of_ms') + 1),
            false
        ) as is_event
    from everything
    where started_ms < getvariable('window_end_ms')
),

scoped as (
    select
        clusters.cluster,
        seen.measure,
        unnest(seen.scopes, recursive := true),
        greatest(0, getvariable('window_start_ms') - seen.started_ms) as entered_ms,
        seen.until_ms - seen.started_ms as span_ms,
        seen.is_event
    from seen
    inner join rollups.clusters as clusters on seen.cluster = clusters.member
    where seen.until_ms >= getvariable('window_start_ms')
)

select *
from scoped
where scope_value is not null and span_ms >= entered_ms
