-- Does a node fail more often than chance allows, given how long it was in service [5.7]?
--
-- Over the 28 days before the window's end, of nodes with at least a day in service. p_value is the
-- binomial tail P(X >= failure_count) with all failures of the cluster as trials and the node's share
-- of the exposure as probability, q_value the same after Benjamini and Hochberg over the cluster's nodes: a list
-- cut at q has at most that share of false names. A lemon has also failed at least three times.
--
-- grain: cluster, node_uid

with exposed as (
    select
        cluster,
        node_uid,
        least(end_ms(paid_to), getvariable('window_end_ms'))
        - greatest(ms_of(ready_at), getvariable('window_end_ms') - 2419200000) as exposure_ms
    from staged.nodes
),

failed as (
    select cluster, node_uid, count(*) as failure_count
    from rollups.recent_failures
    group by cluster, node_uid
),

nodes as (
    select
        exposed.cluster,
        exposed.node_uid,
        exposed.exposure_ms,
        coalesce(failed.failure_count, 0) as failure_count,
        sum(coalesce(failed.failure_count, 0)) over in_cluster as trial_count,
        exposed.exposure_ms / sum(exposed.exposure_ms) over in_cluster as share
    from exposed
    left join failed using (cluster, node_uid)
    where exposed.exposure_ms >= 86400000
    window in_cluster as (partition by exposed.cluster)
),

-- Nodes of one count and exposure share one tail; its terms are summed from the smallest.
tails as (
    select
        trial_count,
        share,
        failure_count,
        least(1.0, list_sum(list_reverse(list_transform(
            range(cast(failure_count as bigint), cast(trial_count as bigint) + 1),
            lambda k:
                exp(
                    lgamma(trial_count + 1) - lgamma(k + 1) - lgamma(trial_count - k + 1)
                    + k * ln(share) + (trial_count - k) * ln(1 - share)
                )
        )))) as p_value
    from (
        select distinct
            cast(trial_count as double) as trial_count,
            share,
            failure_count
        from nodes
        where failure_count > 0 and share < 1
    )
),

judged as (
    select
        nodes.*,
        coalesce(tails.p_value, 1) as p_value,
        count(*) over (partition by nodes.cluster) as node_count,
        row_number() over (
            partition by nodes.cluster
            order by coalesce(tails.p_value, 1), nodes.node_uid
        ) as p_rank
    from nodes
    left join tails using (trial_count, share, failure_count)
),

adjusted as (
    select
        *,
        least(1.0, min(p_value * node_count / p_rank) over (
            partition by cluster
            order by p_rank desc
        )) as q_value
    from judged
)

select
    cluster,
    node_uid,
    exposure_ms / 3600000 as exposure_hours,
    failure_count,
    p_value,
    q_value,
    q_value <= 0.05 and failure_count >= 3 as is_lemon
from adjusted
