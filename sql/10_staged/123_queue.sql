-- Workloads waiting for capacity.
--
-- grain: row

select distinct
    cluster,
    job,
    attempt,
    coalesce(pool, 'default') as pool,
    pods,
    gpus_per_pod,
    coalesce(suspended, false) as is_suspended,
    "from" as started_at,
    "to" as ended_at
from gathered.queue
where "from" <= getvariable('as_of')
