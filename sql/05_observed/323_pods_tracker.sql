-- Pods for jobs that only a foreign recorder tells of: one for each node rank and attempt.
--
-- They hold their node from the attempt's start, run from the rank's own start, and keep the node
-- until the next attempt starts: the recorder does not say when a dead gang let go.
--
-- grain: cluster, pod_uid

with

members as (
    select
        cluster,
        recorder,
        job,
        attempt,
        coalesce(node_rank, 0) as node_rank,
        min(occurred_at) as running_at
    from observed.tracker_attempt_events
    where event in ('job_started', 'job_start')
    group by cluster, recorder, job, attempt, coalesce(node_rank, 0)
)

select
    members.cluster,
    concat(members.job, '/', members.attempt, '/', members.node_rank) as pod_uid,
    concat(members.job, '/', members.attempt, '/', members.node_rank) as name,
    members.job,
    cast(members.attempt as integer) as attempt,
    concat(members.job, '/node-', members.node_rank) as node_uid,
    sources.gpus,
    'worker' as role,
    members.node_rank as rank,
    ends.started_at as bound_at,
    members.running_at,
    coalesce(ends.next_at, ends.ended_at) as terminated_at,
    coalesce(ends.next_at, ends.ended_at) as released_at,
    sources.ingested_at,
    sources.ingested_from,
    sources.run_id,
    md5(concat_ws('|', sources.row_id, 'pod', members.attempt, members.node_rank)) as row_id
from members
inner join observed.tracker_attempt_ends as ends using (cluster, recorder, job, attempt)
inner join observed.tracker_owners as owners using (cluster, recorder, job, attempt)
inner join observed.tracker_sources as sources using (cluster, recorder, job)
where owners.is_alone
