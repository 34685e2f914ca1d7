-- Runs of samples about a node, clipped to the life of the node that had the name then.
--
-- grain: row

select
    run.cluster,
    node.node_uid,
    node.gpus,
    run.query,
    run.labels,
    run.gpu,
    run.value,
    greatest(run.started_at, node.born_at) as started_at,
    case
        when coalesce(run.ended_at, 'infinity') <= node.gone_at then run.ended_at
        else node.gone_at
    end as ended_at,
    least(run.last_at, node.gone_at) as last_at,
    run.interval_ms,
    run.value_before,
    run.seen_before_at,
    run.ingested_at,
    run.ingested_from
from observed.prom_runs as run
inner join observed.prom_nodes as node using (cluster, node_name)
where
    node.gone_at > run.started_at
    and node.born_at <= run.last_at
    and (run.ended_at is null or run.ended_at >= run.started_at)
