-- What each pod's GPUs were held for, from bind to release: disjoint and without gaps [1.4].
--
-- grain: cluster, pod_uid, started_ms

with placed as (
    select
        pod.cluster,
        pod.pod_uid,
        pod.node_uid,
        pod.namespace,
        pod.job,
        pod.attempt,
        job.job is not null and job.kind = 'training' as is_training,
        pod.role = 'standby' as is_standby,
        attempt.attempt is not null as is_known_attempt,
        attempt.is_instrumented,
        verdict.is_zero,
        verdict.zero_state,
        verdict.own_cause,
        verdict.carry_cause,
        verdict.carry_job,
        verdict.carry_attempt,
        epoch_ms(pod.bound_at) as bound_ms,
        end_ms(pod.released_at) as released_ms,
        end_ms(pod.running_at) as running_ms,
        coalesce(gang.ready_ms, getvariable('forever_ms')) as ready_ms,
        coalesce(attempt.ended_ms, getvariable('forever_ms')) as attempt_ended_ms,
        case
            when pod.last_seen is not null and pod.gone_by is not null
                then greatest(epoch_ms(pod.last_seen), attempt.ended_ms)
            else getvariable('forever_ms')
        end as unseen_ms
    from staged.pods as pod
    left join staged.jobs as job using (cluster, job)
    left join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    left join intervals.attempt_verdicts as verdict using (cluster, job, attempt)
    left join intervals.gangs as gang using (cluster, job, attempt)
),

phased as (
    select
        *,
        case
            when not is_training or is_standby then released_ms
            when not is_known_attempt then least(released_ms, unseen_ms)
            else least(released_ms, unseen_ms, attempt_ended_ms)
        end as live_end_ms
    from placed
),

spans as (
    -- Not training, a spare, or of an attempt nobody knows.
    select
        *,
        bound_ms as started_ms,
        live_end_ms as ended_ms,
        case
            when not is_training then 'A.other'
            when is_standby then 'A.standby'
            else 'A.unknown'
        end as state,
        case
            when not is_training then null
            when is_standby then 'base.overhead'
            else 'unk.none'
        end as cause,
        'none' as payer
    from phased
    where not is_training or is_standby or not is_known_attempt

    union all by name

    -- Its end was not observed [0.3].
    select
        *,
        greatest(bound_ms, unseen_ms) as started_ms,
        released_ms as ended_ms,
        'A.unknown' as state,
        'unk.obs_gap' as cause,
        'none' as payer
    from phased
    where is_training and not is_standby

    union all by name

    select
        *,
        greatest(bound_ms, attempt_ended_ms) as started_ms,
        least(released_ms, unseen_ms) as ended_ms,
        'A.teardown' as state,
        coalesce(own_cause, 'base.overhead') as cause,
        case when own_cause is not null then 'own' else 'none' end as payer
    from phased
    where is_training and not is_standby and is_known_attempt

    union all by name

    select
        *,
        bound_ms as started_ms,
        live_end_ms as ended_ms,
        zero_state as state,
        own_cause as cause,
        'own' as payer
    from phased
    where is_training and not is_standby and is_known_attempt and is_zero

    union all by name

    select
        *,
        bound_ms as started_ms,
        least(live_end_ms, running_ms) as ended_ms,
        'A.startup' as state,
        carry_cause as cause,
        'carry' as payer
    from phased
    where is_training and not is_standby and is_known_attempt and not is_zero

    union all by name

    select
        *,
        greatest(bound_ms, running_ms) as started_ms,
        least(live_end_ms, ready_ms) as ended_ms,
        'A.gang_wait' as state,
        carry_cause as cause,
        'carry' as payer
    from phased
    where is_training and not is_standby and is_known_attempt and not is_zero

    union all by name

    select
        *,
        greatest(bound_ms, running_ms, ready_ms) as started_ms,
        live_end_ms as ended_ms,
        case when is_instrumented then 'timeline' else 'A.unknown' end as state,
        cast(null as varchar) as cause,
        'none' as payer
    from phased
    where is_training and not is_standby and is_known_attempt and not is_zero
),

known_spans as (
    select
        cluster,
        pod_uid,
        node_uid,
        namespace,
        job,
        attempt,
        is_training,
        started_ms,
        ended_ms,
        state,
        cause,
        case payer when 'own' then job when 'carry' then carry_job end as cause_job,
        case payer when 'own' then attempt when 'carry' then carry_attempt end as cause_attempt
    from spans
    where ended_ms > started_ms
)

select *
from known_spans
where state <> 'timeline'

union all by name

select
    span.* replace (
        greatest(span.started_ms, line.started_ms) as started_ms,
        least(span.ended_ms, line.ended_ms) as ended_ms,
        line.state as state,
        line.cause as cause,
        line.cause_job as cause_job,
        line.cause_attempt as cause_attempt
    )
from known_spans as span
inner join intervals.attempt_timeline as line using (cluster, job, attempt)
where
    span.state = 'timeline'
    and line.started_ms < span.ended_ms
    and line.ended_ms > span.started_ms
