-- Pods that hold GPUs on a node nobody reported: their time is in no ledger row.
--
-- grain: row
-- severity: warn

with newest as (
    select *
    from gathered.pods
    -- Whatever an older version says, a pod that is staged stands on a known node.
    anti join staged.pods using (cluster, pod_uid)
    qualify row_number() over (
        partition by cluster, pod_uid
        order by ingested_at desc nulls last, run_id desc nulls last, row_id desc nulls last
    ) = 1
)

select pod.cluster, pod.pod_uid, pod.namespace, pod.name, pod.node_uid
from newest as pod
anti join staged.nodes using (cluster, node_uid)
where coalesce(pod.gpus, 0) > 0 and pod.node_uid is not null
