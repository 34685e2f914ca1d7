-- When each object was seen last, and by when it was gone.
--
-- Gone is what was seen to be deleted, or what is missing in a later list that would have shown it: one of
-- its kind, of its namespace, whose items share no label that this object lacks.
--
-- grain: cluster, kind, uid

with seen as (
    select
        cluster,
        kind,
        uid,
        any_value(namespace) as namespace,
        any_value(regexp_extract(api_version, '^(.*)/', 1)) as api_group,
        max(observed_at) filter (where not is_deleted) as last_seen_at,
        min(observed_at) filter (where is_deleted) as deleted_at,
        arg_max(body, coalesce(observed_at, 'epoch')) -> '$.metadata.labels' as labels
    from raw.kube_objects
    where uid is not null
    group by cluster, kind, uid
),

scopes as (
    select
        cluster,
        kind,
        api_group,
        namespace,
        labels,
        list(distinct observed_at order by observed_at) as listed_at
    from raw.kube_lists
    where observed_at is not null and is_consistent is distinct from false
    group by cluster, kind, api_group, namespace, labels
),

missed as (
    select
        seen.cluster,
        seen.kind,
        seen.uid,
        min(list_filter(scopes.listed_at, lambda instant: instant > seen.last_seen_at)[1])
            as missing_at
    from seen
    inner join scopes
        on
            seen.cluster = scopes.cluster
            and seen.kind = scopes.kind
            and (scopes.api_group is null or scopes.api_group = seen.api_group)
            and (scopes.namespace is null or scopes.namespace = seen.namespace)
            and scopes.listed_at[-1] > seen.last_seen_at
            and (scopes.labels = '{}' or json_contains(coalesce(seen.labels, '{}'), scopes.labels))
    group by seen.cluster, seen.kind, seen.uid
)

select
    seen.cluster,
    seen.kind,
    seen.uid,
    coalesce(seen.last_seen_at, seen.deleted_at) as last_seen_at,
    seen.deleted_at,
    case when seen.deleted_at is null then missed.missing_at end as missing_at
from seen
left join missed using (cluster, kind, uid)
