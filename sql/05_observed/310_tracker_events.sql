-- Events of foreign goodput recorders, each once, in order of time within a job.
--
-- `position` counts 1, 2, 3 … Files that were collected twice or overlap leave one row an event.
--
-- grain: cluster, recorder, job, position

with distinct_events as (
    select
        cluster,
        recorder,
        job,
        event,
        make_timestamptz(t_us // 1000 * 1000) as occurred_at,
        t_us,
        node_rank,
        step,
        duration_s,
        waited_until,
        is_synchronous,
        directory,
        detail,
        max(gpus) as gpus,
        min(origin) as origin,
        min(origin_line) as origin_line,
        min(ingested_at) as ingested_at,
        min(ingested_from) as ingested_from,
        min(run_id) as run_id,
        min(row_id) as row_id
    from raw.tracker_events
    group by
        cluster, recorder, job, event, t_us, node_rank, step, duration_s, waited_until,
        is_synchronous, directory, detail
)

select
    *,
    row_number() over (
        partition by cluster, recorder, job
        order by t_us, origin, origin_line, row_id
    ) as position
from distinct_events
