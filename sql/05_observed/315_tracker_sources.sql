-- Where the account of each job of a foreign recorder comes from, and the size of its nodes.
--
-- A row's knowledge time is that of the newest file: rows that were derived from several files
-- are only as old as the last of them.
--
-- grain: cluster, recorder, job

select
    cluster,
    recorder,
    job,
    max(gpus) as gpus,
    max(ingested_at) as ingested_at,
    max_by(ingested_from, position) as ingested_from,
    max(run_id) as run_id,
    md5(concat_ws('|', cluster, recorder, job)) as row_id
from observed.tracker_events
group by cluster, recorder, job
