-- Imported evidence of a pod, node or attempt that nobody reported: it explains no failure. The key is that of
-- pods, nodes or attempts, not a name; where it is right, import the row that is missing.
--
-- grain: row
-- severity: warn

with given as (
    select
        *,
        case
            when pod_uid is not null then 'pod'
            when node_uid is not null then 'node'
            when job is not null then 'attempt'
        end as what
    from raw.evidence
),

unknown as (
    select *
    from given
    anti join staged.pods using (cluster, pod_uid)
    where what = 'pod'

    union all

    select *
    from given
    anti join staged.nodes using (cluster, node_uid)
    where what = 'node'

    union all

    select *
    from given
    anti join staged.attempts using (cluster, job, attempt)
    where what = 'attempt'
)

select cluster, what, pod_uid, node_uid, job, attempt, source, value, t, "from", ingested_from
from unknown
