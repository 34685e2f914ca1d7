-- The top object that owns each pod and workload, found along the controller references.
--
-- An owner that was never dumped still counts: its reference names it. Kinds that make workload after
-- workload, such as CronJob, are not climbed to: each run is a job of its own.
--
-- grain: cluster, uid

with recursive references_seen as (
    select
        cluster,
        uid,
        arg_max(owner_kind, coalesce(observed_at, 'epoch')) as owner_kind,
        arg_max(owner_name, coalesce(observed_at, 'epoch')) as owner_name,
        arg_max(owner_uid, coalesce(observed_at, 'epoch')) as owner_uid
    from raw.kube_objects
    where owner_uid is not null and uid is not null and owner_kind <> 'Node'
    group by cluster, uid
),

edges as (
    select *
    from references_seen
    where owner_kind not in (select kind from catalog.workload_kinds where role = 'boundary')
),

climb as (
    select cluster, uid, owner_uid as top_uid, owner_kind as top_kind, owner_name as top_name, 1 as depth
    from edges

    union all

    select
        climb.cluster,
        climb.uid,
        edges.owner_uid,
        edges.owner_kind,
        edges.owner_name,
        climb.depth + 1
    from climb
    inner join edges on climb.cluster = edges.cluster and climb.top_uid = edges.uid
    where climb.depth < 8
)

select *
from climb
qualify row_number() over (partition by cluster, uid order by depth desc, top_uid) = 1
