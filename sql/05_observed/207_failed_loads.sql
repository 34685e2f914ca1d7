-- Checkpoints that proved bad: a load began, and before any step storage evidence followed.
--
-- Any rank may say what was wrong; the load is the last one before that in the attempt.
--
-- grain: cluster, job, attempt, failed_at

with loads as (
    select
        attempts.cluster,
        attempts.job,
        attempts.attempt,
        restores.step,
        restores.restored_at
    from raw.log_restores as restores
    inner join observed.log_attempts as attempts using (cluster, log_id, segment)
    where restores.restored_at is not null
),

complaints as (
    select
        attempts.cluster,
        attempts.job,
        attempts.attempt,
        coalesce(found.observed_at, attempts.ended_at) as failed_at
    from raw.log_evidence as found
    inner join observed.log_attempts as attempts using (cluster, log_id, segment)
    inner join catalog.log_signatures as signature on found.signature = signature.id
    where
        signature.class = 'sto.ckpt'
        and signature.role = 'root'
    group by all
),

steps as (
    select
        attempts.cluster,
        attempts.job,
        attempts.attempt,
        logged.ended_at
    from raw.log_steps as logged
    inner join observed.log_attempts as attempts using (cluster, log_id, segment)
),

paired as (
    select
        complaints.*,
        loads.step,
        loads.restored_at
    from complaints
    inner join loads using (cluster, job, attempt)
    where loads.restored_at <= complaints.failed_at
    qualify
        row_number() over (
            partition by
                complaints.cluster, complaints.job, complaints.attempt, complaints.failed_at
            order by loads.restored_at desc, loads.step desc
        ) = 1
)

select
    paired.cluster,
    paired.job,
    paired.attempt,
    paired.step,
    paired.failed_at
from paired
where
    not exists (
        select 1
        from steps
        where
            steps.cluster = paired.cluster
            and steps.job = paired.job
            and steps.attempt = paired.attempt
            and steps.ended_at > paired.restored_at
            and steps.ended_at <= paired.failed_at
    )
