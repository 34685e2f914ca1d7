-- Pods of clusters of which only Prometheus tells.
--
-- No exit code is sampled. Succeeded means by its definition that all containers exited with 0; with which
-- code others failed, nobody saw.
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
    case when final_phase = 'Succeeded' then 0 end as exit_code,
    reason,
    ingested_at,
    ingested_from
from observed.prom_pods
