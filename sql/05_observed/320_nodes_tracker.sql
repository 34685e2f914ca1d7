-- Nodes that only a foreign recorder tells of: one for each rank of its job.
--
-- They are paid from the first to the last event of the job, because nothing else is known of them.
--
-- grain: cluster, node_uid

with

ranks as (
    select distinct
        cluster,
        recorder,
        job,
        coalesce(node_rank, 0) as node_rank
    from observed.tracker_events
    where event in ('job_started', 'job_start') or recorder = 'ml_goodput'
),

alone as (
    select distinct
        cluster,
        recorder,
        job
    from observed.tracker_owners
    where is_alone
),

bounds as (
    select
        cluster,
        recorder,
        job,
        min(started_at) as started_at,
        max(log_ended_at) as ended_at
    from observed.tracker_spans
    group by cluster, recorder, job
)

select
    ranks.cluster,
    concat(ranks.job, '/node-', ranks.node_rank) as node_uid,
    concat(ranks.job, '/node-', ranks.node_rank) as name,
    ranks.recorder as pool,
    sources.gpus,
    bounds.started_at as registered_at,
    bounds.started_at as ready_at,
    bounds.ended_at as deleted_at,
    bounds.started_at as paid_from,
    bounds.ended_at as paid_to,
    sources.ingested_at,
    sources.ingested_from,
    sources.run_id,
    md5(concat_ws('|', sources.row_id, 'node', ranks.node_rank)) as row_id
from ranks
inner join bounds using (cluster, recorder, job)
inner join observed.tracker_sources as sources using (cluster, recorder, job)
semi join alone using (cluster, recorder, job)
