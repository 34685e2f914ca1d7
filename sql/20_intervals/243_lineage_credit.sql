-- What each lineage may count as durable, and what becomes of the rest [2.7].
--
-- safe_step: newest position covered by a valid checkpoint on the retained
-- path, or proved by a restore that executed steps. claimed_step: newest
-- position any committed checkpoint on the path claims.
--
-- grain: lineage_id

with kept_checkpoints as (
    select
        lineage_id,
        max(step) filter (where not is_invalid) as safe_step,
        max(step) as claimed_step
    from intervals.checkpoint_fates
    where cut_number is null
    group by lineage_id
),

restores as (
    select attempt.lineage_id, max(pace.resume_step) as proved_step
    from intervals.lineage_attempts as attempt
    inner join intervals.attempt_pace as pace using (attempt_id)
    where attempt.attempt_order > 1 and pace.record_count > 0
    group by attempt.lineage_id
),

last_attempts as (
    select
        attempt.lineage_id,
        max_by(attempt.job_state, attempt.attempt_order) as job_state,
        max_by(attempt.ended_ms is null, attempt.attempt_order) as is_open,
        coalesce(
            max(attempt.attempt_order) filter (where pace.record_count > 0),
            max(attempt.attempt_order)
        ) as owner_order
    from intervals.lineage_attempts as attempt
    inner join intervals.attempt_pace as pace using (attempt_id)
    group by attempt.lineage_id
)

select
    last_attempts.lineage_id,
    last_attempts.job_state,
    last_attempts.is_open,
    last_attempts.job_state in ('failed', 'cancelled') as is_over_badly,
    greatest(
        coalesce(kept_checkpoints.safe_step, -1),
        coalesce(restores.proved_step, -1)
    ) as safe_step,
    coalesce(kept_checkpoints.claimed_step, -1) as claimed_step,
    coalesce(attribution.class, 'unk.none') as own_cause,
    case when attribution.class is not null then owner.job end as own_job,
    case when attribution.class is not null then owner.attempt end as own_attempt
from last_attempts
inner join intervals.lineage_attempts as owner
    on
        last_attempts.lineage_id = owner.lineage_id
        and last_attempts.owner_order = owner.attempt_order
left join intervals.attribution as attribution
    on
        owner.cluster = attribution.cluster
        and owner.job = attribution.job
        and owner.attempt = attribution.attempt
left join kept_checkpoints on last_attempts.lineage_id = kept_checkpoints.lineage_id
left join restores on last_attempts.lineage_id = restores.lineage_id
