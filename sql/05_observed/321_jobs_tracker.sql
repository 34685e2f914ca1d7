-- Jobs that a foreign recorder watched; their name is their key and the lineage of their
-- checkpoints.
--
-- grain: cluster, job

with

last_attempts as (
    select ends.*
    from observed.tracker_attempt_ends as ends
    inner join observed.tracker_owners as owners using (cluster, recorder, job, attempt)
    where ends.next_at is null and owners.is_alone
),

submissions as (
    select
        cluster,
        recorder,
        job,
        min(occurred_at) as submitted_at
    from observed.tracker_events
    group by cluster, recorder, job
)

select
    last_attempts.cluster,
    last_attempts.job,
    'training' as kind,
    last_attempts.outcome as state,
    last_attempts.ended_at,
    last_attempts.job as lineage,
    true as instrumented,
    last_attempts.job as name,
    submissions.submitted_at,
    sources.ingested_at,
    sources.ingested_from,
    sources.run_id,
    sources.row_id
from last_attempts
inner join submissions using (cluster, recorder, job)
inner join observed.tracker_sources as sources using (cluster, recorder, job)
