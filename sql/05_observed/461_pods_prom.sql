-- Pods of clusters of which only Prometheus tells.
--
-- grain: cluster, pod_uid

select
    cluster,
    pod_uid,
    name,
    namespace,
    job,
    attempt,
    node_uid,
    gpus,
    cast(null as integer[]) as devices,
    cast(null as varchar) as share,
    'worker' as role,
    cast(null as integer) as rank,
    bound_at,
    running_at,
    ended_at as terminated_at,
    ended_at as released_at,
    case final_phase when 'Succeeded' then 0 when 'Failed' then 1 end as exit_code,
    reason,
    cast(null as varchar) as disruption,
    cast(null as timestamptz) as last_seen,
    cast(null as timestamptz) as gone_by,
    ingested_at,
    ingested_from,
    cast(null as varchar) as run_id,
    cast(null as varchar) as row_id
from observed.prom_pods
