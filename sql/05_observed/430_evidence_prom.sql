-- What samples tell of errors: XIDs, counters of errors that grew, taints that appeared.
--
-- DCGM's last XID stays until the driver is reset, and a counter never goes back to 0 by itself: only a
-- change is an error, and what stood there at the first sample ever may be of any age and is none. All are
-- dated by the first sample that shows them. Of a counter, its first growth in each hour counts; which
-- counters mean something, scope `metric` of catalog/k8s_reasons.csv says. An XID that the kernel's log or
-- an import tells of too is theirs, and so is a taint that the API server showed.
--
-- grain: row

with xids as (
    select
        cluster,
        node_uid,
        gpu,
        cast(try_cast(try_cast(value as double) as bigint) as varchar) as xid,
        started_at,
        seen_before_at,
        ingested_at,
        ingested_from
    from observed.prom_node_runs
    where
        query = 'gpu_xid'
        and try_cast(value as double) > 0
        and value_before is not null
        and value_before <> value
),

told as (
    select cluster, node_uid, gpu, value, t from raw.evidence where source = 'xid'
    union all
    select cluster, node_uid, gpu, value, t from observed.evidence_kernel where source = 'xid'
),

new_xids as (
    select cluster, started_at, 'xid' as source, xid as value, node_uid, gpu, ingested_at, ingested_from
    from xids
    where
        not exists (
            select 1
            from told
            where
                xids.cluster = told.cluster
                and xids.node_uid = told.node_uid
                and xids.xid = told.value
                and (told.gpu is null or xids.gpu is null or told.gpu = xids.gpu)
                -- Five seconds for the clocks of two machines.
                and told.t > xids.seen_before_at - interval 5 seconds
                and told.t <= xids.started_at + interval 5 seconds
        )
),

grown as (
    select
        cluster,
        started_at,
        'metric' as source,
        query as value,
        node_uid,
        gpu,
        ingested_at,
        ingested_from
    from observed.prom_node_runs
    where
        query in (select reason from catalog.k8s_reasons where scope = 'metric')
        and try_cast(value as double) > try_cast(value_before as double)
    qualify row_number() over (
        partition by cluster, node_uid, gpu, query, date_trunc('hour', started_at)
        order by started_at, labels
    ) = 1
),

asked as (
    select cluster, min("from") as asked_from
    from raw.prom_slices
    where query = 'node_taint'
    group by cluster
),

taints as (
    select
        run.cluster,
        run.started_at,
        'taint' as source,
        run.labels ->> '$.key' as value,
        run.node_uid,
        run.gpu,
        run.ingested_at,
        run.ingested_from
    from observed.prom_node_runs as run
    inner join asked using (cluster)
    where
        run.query = 'node_taint'
        -- Samples of it came before, and this taint was not among them.
        and run.seen_before_at is null
        and run.started_at - asked.asked_from
        > to_milliseconds(cast(2.5 * run.interval_ms as bigint))
),

new_taints as (
    select * from taints
    where
        not exists (
            select 1
            from observed.evidence_kube as shown
            where
                shown.source = 'taint'
                and taints.cluster = shown.cluster
                and taints.node_uid = shown.node_uid
                and taints.value = shown.value
                and shown.t between
                taints.started_at - interval 5 minutes and taints.started_at + interval 5 seconds
        )
),

signs as (
    select * from new_xids
    union all
    select * from grown
    union all
    select * from new_taints
)

select
    cluster,
    started_at as t,
    source,
    value,
    node_uid,
    gpu,
    'prometheus' as origin,
    ingested_at,
    ingested_from
from signs
