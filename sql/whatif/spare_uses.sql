-- Failures of nodes that a spare could have stood in for: an interruption of the window laid to a node,
-- after which the job waited for its restart. busy_until_ms: when the job has its own node back.

select
    attribution.cluster,
    node.pool,
    attribution.job,
    attribution.attempt,
    attempt.ended_ms as started_ms,
    greatest(
        attempt.next_started_ms,
        coalesce(max(outage.ended_ms) filter (where outage.started_ms <= attempt.next_started_ms), 0)
    ) as busy_until_ms,
    any_value(node.gpus) as gpus
from intervals.attribution as attribution
inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
inner join catalog.taxonomy as taxonomy on attribution.class = taxonomy.class
inner join staged.nodes as node using (cluster, node_uid)
left join intervals.outages as outage
    on
        attribution.cluster = outage.cluster
        and attribution.node_uid = outage.node_uid
        and outage.ended_ms > attempt.ended_ms
where
    taxonomy.domain = 'infra'
    and attempt.next_started_ms > attempt.ended_ms
    and attempt.ended_ms >= getvariable('window_start_ms')
    and attempt.ended_ms < getvariable('window_end_ms')
    and not list_contains(getvariable('healed_nodes'), attribution.node_uid)
group by
    attribution.cluster,
    node.pool,
    attribution.job,
    attribution.attempt,
    attempt.ended_ms,
    attempt.next_started_ms
order by attempt.ended_ms, attribution.cluster, attribution.job, attribution.attempt
