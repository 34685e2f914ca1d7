-- The top object that owns each pod and workload, found along the controller references.
--
-- An owner that was never dumped still counts: its reference names it. Kinds that make workload after
-- workload, such as CronJob, are not climbed to: each run is a job of its own. `job_kind` is that of the
-- highest owner whose kind is known.
--
-- grain: cluster, uid

with recursive kinds as (
    select kind, max(job_kind) as job_kind, bool_or(role = 'boundary') as is_boundary
    from catalog.workload_kinds
    group by kind
),

references_seen as (
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
    select references_seen.*
    from references_seen
    left join kinds on references_seen.owner_kind = kinds.kind
    where not coalesce(kinds.is_boundary, false)
),

climb as (
    select
        cluster,
        uid,
        owner_uid as top_uid,
        owner_kind as top_kind,
        owner_name as top_name,
        1 as depth
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
),

judged as (
    select
        climb.*,
        arg_max(kinds.job_kind, case when kinds.job_kind is not null then climb.depth end) over (
            partition by climb.cluster, climb.uid
        ) as job_kind
    from climb
    left join kinds on climb.top_kind = kinds.kind
)

select *
from judged
qualify row_number() over (partition by cluster, uid order by depth desc, top_uid) = 1
