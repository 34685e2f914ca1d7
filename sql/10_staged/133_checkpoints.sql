-- Checkpoints with the attempt that wrote them; commits and defects count once they are known.
--
-- grain: row
-- nothing without: gathered.checkpoints

with given as (
    select distinct
        checkpoint.cluster,
        checkpoint.job,
        checkpoint.attempt,
        checkpoint.step,
        checkpoint.write_start as write_started_at,
        known(checkpoint.committed_at) as committed_at,
        known(checkpoint.invalid_at) as invalid_at,
        checkpoint.path,
        checkpoint.bytes,
        known(checkpoint.deleted_at) as deleted_at
    from gathered.checkpoints as checkpoint
    semi join staged.jobs using (cluster, job)
),

written as (
    select
        given.* replace (coalesce(given.attempt, writer.attempt) as attempt)
    from given
    left join staged.attempts as writer
        on
            given.attempt is null
            and given.cluster = writer.cluster
            and given.job = writer.job
            and given.write_started_at >= writer.started_at
            and (writer.ended_at is null or given.write_started_at < writer.ended_at)
),

-- A listing of storage cannot see that a checkpoint does not load; what a log found out of the same
-- checkpoint holds for its listed row too.
defects as (
    select cluster, job, attempt, step, min(invalid_at) as invalid_at
    from written
    where path is null and invalid_at is not null
    group by cluster, job, attempt, step
)

select
    written.* replace (
        coalesce(
            written.invalid_at, case when written.path is not null then defects.invalid_at end
        ) as invalid_at
    )
from written
left join defects
    on
        written.cluster = defects.cluster
        and written.job = defects.job
        and written.attempt is not distinct from defects.attempt
        and written.step is not distinct from defects.step
