-- XIDs that DCGM reported: a GPU's last XID became another one.
--
-- The gauge keeps its value until the driver is reset, so only a change is an error; what stood there
-- at the first sample ever may be of any age and is none. It is dated by the first sample that shows
-- it. An XID that the kernel's log or an import tells of too is theirs.
--
-- grain: row

with changes as (
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
)

select
    changes.cluster,
    changes.started_at as t,
    'xid' as source,
    changes.xid as value,
    changes.node_uid,
    changes.gpu,
    cast(null as varchar) as pod_uid,
    cast(null as varchar) as job,
    cast(null as integer) as attempt,
    cast(null as integer) as rank,
    cast(null as varchar) as reason,
    cast(null as varchar) as type,
    cast(null as timestamptz) as "from",
    cast(null as timestamptz) as "to",
    cast(null as varchar) as class,
    'prometheus' as origin,
    cast(null as bigint) as origin_line,
    changes.ingested_at,
    changes.ingested_from,
    cast(null as varchar) as run_id,
    cast(null as varchar) as row_id
from changes
where
    not exists (
        select 1
        from told
        where
            changes.cluster = told.cluster
            and changes.node_uid = told.node_uid
            and changes.xid = told.value
            and (told.gpu is null or changes.gpu is null or told.gpu = changes.gpu)
            -- Five seconds for the clocks of two machines.
            and told.t > changes.seen_before_at - interval 5 seconds
            and told.t <= changes.started_at + interval 5 seconds
    )
