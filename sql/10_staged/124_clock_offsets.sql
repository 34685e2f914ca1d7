-- How far a clock runs ahead of the API server's, per attempt or per node. What was imported, which has
-- a run, outranks what was derived.
--
-- grain: cluster, job, attempt, node_uid

select
    cluster,
    job,
    attempt,
    node_uid,
    cast(
        round(max_by(offset_s, coalesce(run_id, '') || coalesce(row_id, '')) * 1000) as bigint
    ) as offset_ms
from gathered.clock_offsets
group by cluster, job, attempt, node_uid
