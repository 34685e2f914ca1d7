-- Nodes that slowness without a known cause follows from gang to gang [3.4 c].
--
-- Gangs are the different sets of nodes that ran a lineage, world size and configuration, so that
-- they share a baseline; those that were slow for a known cause say nothing. A node is suspected
-- if it is all that two slow gangs share, if at least two gangs without it were not slow, and if
-- so much agreement is hardly chance: a sign test over all gangs of the lineages in which some had
-- the node and some had not.
--
-- grain: cluster, node_uid

with slow_attempts as (
    select
        attempt_id,
        bool_or(class = 'unk.slow') as is_unexplained
    from intervals.slow_records
    group by attempt_id
),

contested as (
    select distinct segment.lineage_id, segment.world, segment.config
    from intervals.judged_segments as segment
    semi join slow_attempts
        on segment.attempt_id = slow_attempts.attempt_id and slow_attempts.is_unexplained
),

judged as (
    select distinct
        segment.attempt_id,
        segment.lineage_id,
        segment.world,
        segment.config,
        coalesce(slow.is_unexplained, false) as is_slow
    from intervals.judged_segments as segment
    semi join contested using (lineage_id, world, config)
    left join slow_attempts as slow using (attempt_id)
    where coalesce(slow.is_unexplained, true)
),

held as (
    select
        attempt.attempt_id,
        attempt.cluster,
        list(distinct pod.node_uid order by pod.node_uid) as nodes
    from intervals.lineage_attempts as attempt
    inner join staged.pods as pod using (cluster, job, attempt)
    semi join judged using (attempt_id)
    where pod.node_uid is not null
    group by attempt.attempt_id, attempt.cluster
),

gangs as (
    select
        row_number() over (
            order by held.cluster, judged.lineage_id, judged.world, judged.config, held.nodes
        ) as gang_id,
        held.cluster,
        judged.lineage_id,
        judged.world,
        judged.config,
        held.nodes,
        bool_or(judged.is_slow) as is_slow
    from judged
    inner join held using (attempt_id)
    group by held.cluster, judged.lineage_id, judged.world, judged.config, held.nodes
),

slow_members as (
    select gang_id, cluster, unnest(nodes) as node_uid
    from gangs
    where is_slow
),

candidates as (
    select distinct cluster, node_uid
    from (
        select
            one.cluster,
            min(one.node_uid) as node_uid
        from slow_members as one
        inner join slow_members as other
            on
                one.cluster = other.cluster
                and one.node_uid = other.node_uid
                and one.gang_id < other.gang_id
        group by one.cluster, one.gang_id, other.gang_id
        having count(*) = 1
    )
),

compared as (
    select
        candidate.cluster,
        candidate.node_uid,
        gang.is_slow,
        list_contains(gang.nodes, candidate.node_uid) as has_node
    from candidates as candidate
    inner join gangs as gang using (cluster)
    window in_lineage as (
        partition by
            candidate.cluster, candidate.node_uid, gang.lineage_id, gang.world, gang.config
    )
    qualify bool_or(has_node) over in_lineage and bool_or(not has_node) over in_lineage
),

tallied as (
    select
        cluster,
        node_uid,
        count(*) filter (where has_node) as gangs_with,
        count(*) filter (where has_node and is_slow) as slow_with,
        count(*) filter (where not has_node) as gangs_without,
        count(*) filter (where not has_node and is_slow) as slow_without
    from compared
    group by cluster, node_uid
)

select *
from (
    select
        *,
        -- The chance of so many heads or more among as many coins as there are gangs.
        round(
            list_sum(
                list_transform(
                    range(slow_with + gangs_without - slow_without, gangs_with + gangs_without + 1),
                    lambda heads: exp(
                        lgamma(gangs_with + gangs_without + 1)
                        - lgamma(heads + 1)
                        - lgamma(gangs_with + gangs_without - heads + 1)
                        - (gangs_with + gangs_without) * ln(2)
                    )
                )
            ),
            9
        ) as p_value
    from tallied
)
where slow_with >= 2 and gangs_without - slow_without >= 2 and p_value < 0.05
