-- Looking at a node through Prometheus as a health check: each sample of its conditions is a beat.
--
-- A hole of more than 2.5 scrape intervals makes the node stale, neither healthy nor down, unless another
-- source proves how it was. That holds only between the first and the last hour that was collected:
-- outside, as beyond what observed.prom_runs reads, this check asks for nothing.
--
-- grain: cluster, node_uid

with asked as (
    select
        cluster,
        greatest(min("from"), getvariable('window_start') - interval 1 day) as asked_from,
        least(max("to"), getvariable('window_end') + interval 1 day) as asked_until
    from raw.prom_slices
    where query = 'node_condition'
    group by cluster
    having
        max("to") > getvariable('window_start') - interval 1 day
        and min("from") < getvariable('window_end') + interval 1 day
),

ready as (
    select cluster, node_uid, started_at, ended_at, last_at, interval_ms
    from observed.prom_node_runs
    where query = 'node_condition' and labels ->> '$.condition' = 'Ready'
),

paced as (
    select cluster, node_uid, cast(median(interval_ms) as bigint) as interval_ms
    from ready
    group by cluster, node_uid
),

beats as (
    select
        ready.cluster,
        ready.node_uid,
        ready.started_at as "from",
        coalesce(ready.ended_at, asked.asked_until) as "to"
    from ready
    inner join asked using (cluster)

    union all

    select
        paced.cluster,
        paced.node_uid,
        greatest(proof.started_at, asked.asked_from),
        least(proof.ended_at, asked.asked_until)
    from paced
    inner join asked using (cluster)
    inner join observed.proven_conditions as proof using (cluster, node_uid)
    where
        proof.type = 'Ready'
        and proof.started_at < asked.asked_until
        and proof.ended_at > asked.asked_from

    union all

    select paced.cluster, paced.node_uid, to_timestamp(0), asked.asked_from
    from paced
    inner join asked using (cluster)

    union all

    select paced.cluster, paced.node_uid, asked.asked_until, timestamptz '2999-12-31 00:00:00+00'
    from paced
    inner join asked using (cluster)
)

select
    beats.cluster,
    beats.node_uid,
    'prometheus' as "check",
    true as required,
    2.5 * any_value(paced.interval_ms) / 1000 as stale_after_s,
    list(
        {
            'from': beats."from",
            'to': beats."to",
            'every_s': paced.interval_ms / 1000
        } order by beats."from", beats."to"
    ) as beats
from beats
inner join paced using (cluster, node_uid)
group by beats.cluster, beats.node_uid
