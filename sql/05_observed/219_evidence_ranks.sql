-- Slow ranks that logs report, as evidence on their node [3.4b].
--
-- A report that gives times counts if its rank is the slowest in four of five reports of its
-- attempt; a straggler detector has decided already. The node is the pod's of that name, else the
-- node of that name.
--
-- grain: row
-- nothing without: raw.log_slow_ranks

with latest as (
    select *
    from raw.log_slow_ranks
    qualify row_number() over (
        partition by cluster, log_id, line, rank
        order by ingested_at desc nulls last, run_id desc, row_id
    ) = 1
),

placed as (
    select
        attempts.cluster,
        attempts.job,
        attempts.attempt,
        attempts.path,
        latest.rank,
        latest.node,
        latest.excess,
        latest.reports,
        latest.started_at,
        latest.reported_at,
        latest.line,
        latest.ingested_at,
        latest.ingested_from,
        latest.run_id,
        latest.row_id,
        count(*) over (
            partition by
                attempts.cluster, attempts.job, attempts.attempt, latest.log_id, latest.rank,
                latest.excess is null
        ) as times_slowest,
        max(latest.reports) over (
            partition by attempts.cluster, attempts.job, attempts.attempt, latest.log_id
        ) as report_count
    from latest
    inner join observed.log_attempts as attempts using (cluster, log_id, segment)
),

pods as (
    select cluster, job, attempt, name, min(node_uid) as node_uid, min(pod_uid) as pod_uid
    from observed.known_pods
    group by cluster, job, attempt, name
),

nodes as (
    select cluster, name, max(node_uid) as node_uid
    from (
        select cluster, name, node_uid from observed.nodes_kube
        union
        select cluster, name, node_uid from raw.nodes
    )
    group by cluster, name
    having count(*) = 1
)

select
    placed.cluster,
    placed.reported_at as t,
    'slow_rank' as source,
    concat_ws(' ', 'rank', placed.rank, 'on ' || placed.node) as value,
    coalesce(pods.node_uid, nodes.node_uid) as node_uid,
    pods.pod_uid,
    placed.job,
    placed.attempt,
    placed.rank,
    placed.started_at as "from",
    placed.reported_at as "to",
    placed.path as origin,
    placed.line as origin_line,
    placed.ingested_at,
    placed.ingested_from,
    placed.run_id,
    placed.row_id
from placed
left join pods
    on
        placed.cluster = pods.cluster
        and placed.job = pods.job
        and placed.attempt = pods.attempt
        and placed.node = pods.name
left join nodes on placed.cluster = nodes.cluster and placed.node = nodes.name
where
    placed.reported_at is not null
    and placed.started_at < placed.reported_at
    and (placed.excess is null or placed.times_slowest * 5 >= placed.report_count * 4)
