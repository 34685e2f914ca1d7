with
-- Where the wall time of a job went that only the resiliency recorder watched, and its nodes' time.
-- Every second from the first event to the last is in exactly one bucket.
attempts as (
    select
        attempt.cluster,
        attempt.job,
        attempt.attempt,
        attempt.started_at,
        lead(attempt.started_at, 1, node.ended_at) over (
            partition by attempt.cluster, attempt.job order by attempt.started_at
        ) as next_at,
        node.ended_at
    from staged.attempts as attempt
    inner join (
        select pod.cluster, pod.job, max(node.paid_to) as ended_at
        from staged.pods as pod
        inner join staged.nodes as node using (cluster, node_uid)
        group by pod.cluster, pod.job
    ) as node using (cluster, job)
),

marked as (
    select
        attempts.*,
        (select max(phase.ended_at) from staged.phases as phase
         where phase.kind = 'restore' and (phase.cluster, phase.job, phase.attempt)
             = (attempts.cluster, attempts.job, attempts.attempt)) as loaded_at,
        (select max(step.ended_at) from staged.steps as step
         where (step.cluster, step.job, step.attempt)
             = (attempts.cluster, attempts.job, attempts.attempt)) as saved_at,
        (select count(*) from staged.pods as pod
         where (pod.cluster, pod.job, pod.attempt)
             = (attempts.cluster, attempts.job, attempts.attempt)) as nodes
    from attempts
),

spans as (
    select *, unnest([
        {bucket: 'start to load',
         ms: case when loaded_at is not null then epoch_ms(loaded_at) - epoch_ms(started_at) end},
        {bucket: 'kept', ms: epoch_ms(saved_at) - epoch_ms(loaded_at)},
        {bucket: 'tail', ms: epoch_ms(next_at) - epoch_ms(coalesce(saved_at, loaded_at))},
        {bucket: 'never loaded',
         ms: case when loaded_at is null then epoch_ms(next_at) - epoch_ms(started_at) end}
    ]) as span
    from marked
)

select
    cluster,
    job,
    span.bucket as bucket,
    count(*) as attempts,
    sum(span.ms) / 1000 as seconds,
    sum(span.ms * nodes) / 1000 as node_seconds
from spans
where span.ms is not null
group by all
order by all
