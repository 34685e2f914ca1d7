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
    'worker' as role,
    bound_at,
    running_at,
    ended_at as terminated_at,
    ended_at as released_at,
    case final_phase when 'Succeeded' then 0 when 'Failed' then 1 end as exit_code,
    reason,
    ingested_at,
    ingested_from
from observed.prom_pods
