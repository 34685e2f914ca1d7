-- Checkpoints that foreign recorders logged.
--
-- resiliency logs a save when it is done. Of an Orbax save the blocking part is logged; an
-- asynchronous one is durable at the latest when the next save has stopped waiting for it.
--
-- grain: cluster, job, attempt, step, write_start

with

saves as (
    select
        cluster,
        recorder,
        job,
        attempt,
        step,
        event,
        min(occurred_at) as write_started_at,
        cast(round(avg(coalesce(duration_s, 0)) * 1000) as bigint) as duration_ms,
        bool_and(coalesce(is_synchronous, true)) as is_synchronous,
        min(waited_until) as waited_until,
        min(directory) as path
    from observed.tracker_attempt_events
    where event in ('checkpoint_saved', 'save')
    group by cluster, recorder, job, attempt, step, event
),

committed as (
    select
        *,
        case
            when is_synchronous then write_started_at + to_milliseconds(duration_ms)
            else date_trunc('milliseconds', lead(waited_until) over (
                partition by cluster, recorder, job, attempt order by write_started_at
            ))
        end as committed_at
    from saves
)

select
    committed.cluster,
    owners.owner_job as job,
    owners.owner_attempt as attempt,
    committed.step,
    committed.write_started_at as write_start,
    committed.committed_at,
    committed.path,
    sources.ingested_at,
    sources.ingested_from,
    sources.run_id,
    md5(concat_ws('|', sources.row_id, 'checkpoint', committed.attempt, committed.step)) as row_id
from committed
inner join observed.tracker_owners as owners using (cluster, recorder, job, attempt)
inner join observed.tracker_sources as sources using (cluster, recorder, job)
where owners.owner_attempt is not null
