-- What each pod's GPUs were held for, from bind to release: disjoint and without gaps [1.4].
--
-- While an attempt runs its timeline tells what all its pods are charged with: such a span names the
-- attempt and has no charge, so that a gang costs as many rows as it has pods, and its timeline is
-- written once.
--
-- grain: pod_id, started_ms

with attempt_charges as (
    select
        verdict.cluster,
        verdict.job,
        verdict.attempt,
        verdict.is_zero,
        startup.charge_id as startup_charge,
        gang_wait.charge_id as gang_wait_charge,
        zero.charge_id as zero_charge,
        teardown.charge_id as teardown_charge
    from intervals.attempt_verdicts as verdict
    inner join intervals.charges as startup
        on
            startup.state = 'A.startup'
            and verdict.carry_cause = startup.cause
            and verdict.carry_job is not distinct from startup.cause_job
            and verdict.carry_attempt is not distinct from startup.cause_attempt
    inner join intervals.charges as gang_wait
        on
            gang_wait.state = 'A.gang_wait'
            and verdict.carry_cause = gang_wait.cause
            and verdict.carry_job is not distinct from gang_wait.cause_job
            and verdict.carry_attempt is not distinct from gang_wait.cause_attempt
    inner join intervals.charges as teardown
        on
            teardown.state = 'A.teardown'
            and coalesce(verdict.own_cause, 'base.overhead') = teardown.cause
            and case when verdict.own_cause is not null then verdict.job end
            is not distinct from teardown.cause_job
            and case when verdict.own_cause is not null then verdict.attempt end
            is not distinct from teardown.cause_attempt
    left join intervals.charges as zero
        on
            verdict.is_zero
            and verdict.zero_state = zero.state
            and verdict.own_cause = zero.cause
            and verdict.job = zero.cause_job
            and verdict.attempt = zero.cause_attempt
),

fixed_charges as (
    select
        max(charge_id) filter (where state = 'I.reserved') as reserved,
        max(charge_id) filter (where state = 'A.other') as other,
        max(charge_id) filter (where state = 'A.standby') as standby,
        max(charge_id) filter (where state = 'A.unknown' and cause = 'unk.none') as untold,
        max(charge_id) filter (where state = 'A.unknown' and cause = 'unk.obs_gap') as unseen,
        max(charge_id) filter (where state = 'A.unknown' and cause is null) as opaque
    from intervals.charges
    where cause_job is null
),

placed as (
    select
        held.pod_id,
        attempt.attempt_id,
        pod.role <> 'reserved' and job.job is not null and job.kind = 'training' as is_training,
        pod.role = 'standby' as is_standby,
        pod.role = 'reserved' as is_reserved,
        attempt.attempt_id is not null as is_known_attempt,
        attempt.is_instrumented,
        coalesce(charge.is_zero, false) as is_zero,
        charge.startup_charge,
        charge.gang_wait_charge,
        charge.zero_charge,
        charge.teardown_charge,
        ms_of(pod.bound_at) as bound_ms,
        end_ms(pod.released_at) as released_ms,
        end_ms(pod.running_at) as running_ms,
        coalesce(gang.ready_ms, getvariable('forever_ms')) as ready_ms,
        coalesce(attempt.ended_ms, getvariable('forever_ms')) as attempt_ended_ms,
        case
            when pod.last_seen is not null and pod.gone_by is not null
                then greatest(ms_of(pod.last_seen), attempt.ended_ms)
            else getvariable('forever_ms')
        end as unseen_ms
    from intervals.pod_devices as held
    inner join staged.pods as pod using (cluster, pod_uid)
    left join staged.jobs as job using (cluster, job)
    left join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    left join attempt_charges as charge using (cluster, job, attempt)
    left join intervals.gangs as gang using (cluster, job, attempt)
),

phased as (
    select
        *,
        is_training and not is_standby as is_worker,
        case
            when not is_training or is_standby then released_ms
            when not is_known_attempt then least(released_ms, unseen_ms)
            else least(released_ms, unseen_ms, attempt_ended_ms)
        end as live_end_ms
    from placed
),

-- The life of a pod in spans, in the order of the state tree.
spans as (
    select
        pod.pod_id,
        pod.attempt_id,
        unnest(case
            when not pod.is_worker or not pod.is_known_attempt then [{
                'started_ms': pod.bound_ms,
                'ended_ms': pod.live_end_ms,
                'charge_id': case
                    -- A claim without a pod, not training, a spare, or of an attempt nobody knows.
                    when pod.is_reserved then fixed.reserved
                    when not pod.is_training then fixed.other
                    when pod.is_standby then fixed.standby
                    else fixed.untold
                end,
                'is_timeline': false
            }]
            when pod.is_zero then [{
                'started_ms': pod.bound_ms,
                'ended_ms': pod.live_end_ms,
                'charge_id': pod.zero_charge,
                'is_timeline': false
            }]
            else [
                {
                    'started_ms': pod.bound_ms,
                    'ended_ms': least(pod.live_end_ms, pod.running_ms),
                    'charge_id': pod.startup_charge,
                    'is_timeline': false
                },
                {
                    'started_ms': greatest(pod.bound_ms, pod.running_ms),
                    'ended_ms': least(pod.live_end_ms, pod.ready_ms),
                    'charge_id': pod.gang_wait_charge,
                    'is_timeline': false
                },
                {
                    'started_ms': greatest(pod.bound_ms, pod.running_ms, pod.ready_ms),
                    'ended_ms': pod.live_end_ms,
                    'charge_id': fixed.opaque,
                    'is_timeline': pod.is_instrumented
                }
            ]
        end, recursive := true)
    from phased as pod
    cross join fixed_charges as fixed

    union all

    -- Its end was not observed [0.3].
    select
        pod.pod_id,
        pod.attempt_id,
        greatest(pod.bound_ms, pod.unseen_ms),
        pod.released_ms,
        fixed.unseen,
        false
    from phased as pod
    cross join fixed_charges as fixed
    where pod.is_worker

    union all

    select
        pod_id,
        attempt_id,
        greatest(bound_ms, attempt_ended_ms),
        least(released_ms, unseen_ms),
        teardown_charge,
        false
    from phased
    where is_worker and is_known_attempt
)

select
    pod_id,
    started_ms,
    ended_ms,
    case when not is_timeline then charge_id end as charge_id,
    case when is_timeline then attempt_id end as attempt_id
from spans
where ended_ms > started_ms
