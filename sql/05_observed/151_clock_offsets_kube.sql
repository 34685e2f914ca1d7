-- Nodes whose clock differs from the API server's, by the leases that their kubelets renew [0.6].
--
-- A look has the server's time, a lease the time that the kubelet wrote into it. A renewal that is seen
-- is up to a quarter of the lease's duration old, since that often it is renewed: half of that is added. A
-- difference within the bound is none. Dumped files do not say when they were taken.
--
-- grain: cluster, node_uid

with renewals as (
    select
        lease.cluster,
        node.node_uid,
        lease.renewed_at,
        min(lease.observed_at) as seen_at,
        any_value(lease.duration_s) as duration_s,
        min(lease.ingested_at) as ingested_at,
        min(lease.ingested_from) as ingested_from
    from (
        select
            cluster,
            name,
            observed_at,
            try_cast(body ->> '$.spec.renewTime' as timestamptz) as renewed_at,
            coalesce(try_cast(body ->> '$.spec.leaseDurationSeconds' as integer), 40) as duration_s,
            ingested_at,
            ingested_from
        from raw.kube_objects
        where kind = 'Lease' and not is_deleted and ingested_from = 'kubernetes'
    ) as lease
    inner join observed.nodes_kube as node
        on
            lease.cluster = node.cluster
            and lease.name = node.name
            and lease.observed_at >= node.registered_at
            and lease.observed_at <= coalesce(node.deleted_at, 'infinity')
    where lease.renewed_at is not null
    group by lease.cluster, node.node_uid, lease.renewed_at
),

pairs as (
    select
        cluster,
        node_uid,
        ms_of(renewed_at) - ms_of(seen_at) + 125 * duration_s as offset_ms,
        ingested_at,
        ingested_from
    from renewals
)

select
    cluster,
    node_uid,
    median(offset_ms) / 1000 as offset_s,
    min(ingested_at) as ingested_at,
    min(ingested_from) as ingested_from
from pairs
group by cluster, node_uid
having
    count(*) >= 3
    and abs(median(offset_ms)) > greatest(1000 * getvariable('skew_s'), 3 * mad(offset_ms))
