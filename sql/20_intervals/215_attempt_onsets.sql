-- For each interrupted attempt: who died first, when the
-- trouble began, and the window for evidence [4.3].
--
-- grain: cluster, job, attempt

with deaths as (
    select
        pod.cluster,
        pod.job,
        pod.attempt,
        ms_of(pod.terminated_at) as died_ms,
        pod.node_uid
    from staged.pods as pod
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    where attempt.is_interrupted and ms_of(pod.terminated_at) <= attempt.ended_ms
),

first_deaths as (
    select
        cluster,
        job,
        attempt,
        died_ms,
        case when count(distinct node_uid) = 1 then any_value(node_uid) end as node_uid
    from deaths
    group by cluster, job, attempt, died_ms
    qualify row_number() over (partition by cluster, job, attempt order by died_ms) = 1
),

last_phases as (
    select phase.cluster, phase.job, phase.attempt, max(ms_of(phase.ended_at)) as ended_ms
    from staged.phases as phase
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    where ms_of(phase.ended_at) <= attempt.ended_ms
    group by phase.cluster, phase.job, phase.attempt
),

onsets as (
    select
        attempt.*,
        first_deaths.node_uid as first_node_uid,
        least(
            coalesce(first_deaths.died_ms, attempt.ended_ms),
            greatest(
                pace.last_ended_ms,
                last_phases.ended_ms,
                coalesce(gang.ready_ms, attempt.started_ms)
            )
        ) as onset_ms
    from intervals.lineage_attempts as attempt
    inner join intervals.attempt_pace as pace using (attempt_id)
    inner join intervals.gangs as gang using (cluster, job, attempt)
    left join first_deaths using (cluster, job, attempt)
    left join last_phases using (cluster, job, attempt)
    where attempt.is_interrupted
)

select
    cluster,
    job,
    attempt,
    started_ms,
    ended_ms,
    outcome,
    first_node_uid,
    onset_ms,
    cast(onset_ms - 1000 * getvariable('attrib_before_s') as bigint) as from_ms,
    cast(ended_ms + 1000 * getvariable('attrib_after_s') as bigint) as to_ms,
    coalesce(next_started_ms, getvariable('forever_ms')) as next_started_ms,
    coalesce(prev_ended_ms, -getvariable('forever_ms')) as prev_ended_ms
from onsets
