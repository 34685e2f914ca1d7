-- Kubernetes events in their newest version, with the node or pod they are about.
--
-- Kubelets name a node by its name where the uid belongs, so a node is found by name and time.
--
-- grain: cluster, uid

with newest as (
    select *
    from raw.kube_events
    qualify row_number() over (
        partition by cluster, uid
        order by
            count desc,
            last_at desc,
            resource_version desc nulls last,
            ingested_at desc nulls last,
            run_id desc nulls last,
            row_id
    ) = 1
),

first_times as (
    select cluster, uid, min(first_at) as first_at
    from raw.kube_events
    group by cluster, uid
),

node_names as (
    select
        cluster,
        uid as node_uid,
        name,
        min(try_cast(body ->> '$.metadata.creationTimestamp' as timestamptz)) as created_at
    from raw.kube_objects
    where kind = 'Node'
    group by cluster, uid, name
),

timed as (
    select newest.* replace (first_times.first_at as first_at)
    from newest
    inner join first_times using (cluster, uid)
)

select
    timed.*,
    case
        when timed.object_kind = 'Node' then coalesce(node_names.node_uid, timed.object_uid)
    end as node_uid,
    case when timed.object_kind = 'Pod' then timed.object_uid end as pod_uid
from timed
asof left join node_names
    on
        timed.cluster = node_names.cluster
        and timed.object_name = node_names.name
        and timed.last_at >= node_names.created_at
