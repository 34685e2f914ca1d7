-- Nodes that slowness without a known cause follows from gang to gang [3.4 c].
--
-- Gangs are the different sets of nodes that ran a lineage, world size and configuration, so that
-- they share a baseline; those that were slow for a known cause say nothing. A node comes under
-- suspicion if it is all that two slow gangs share. Then all gangs with it are looked at, of
-- whatever lineage, from the first slow one to the last, and the gangs that ran the same lineages
-- without it. It stays under suspicion if at least two without it were not slow and a sign test
-- says that so much agreement is hardly chance; since most gangs are not slow anyway, those without
-- it count for no more than those with it.
--
-- grain: cluster, node_uid
-- nothing without: intervals.slow_records

with slow_attempts as (
    select
        attempt_id,
        bool_or(class = 'unk.slow') as is_unexplained
    from intervals.slow_records
    group by attempt_id
),

holders as (
    select distinct
        attempt.attempt_id,
        attempt.lineage_id,
        attempt.cluster,
        attempt.started_ms,
        attempt.known_end_ms,
        pod.node_uid
    from intervals.lineage_attempts as attempt
    inner join staged.pods as pod using (cluster, job, attempt)
    where pod.node_uid is not null
),

slow_holders as (
    select
        holder.*,
        list(holder.node_uid) over in_attempt as nodes
    from holders as holder
    inner join slow_attempts as slow using (attempt_id)
    where slow.is_unexplained
    window in_attempt as (
        partition by holder.attempt_id
        order by holder.node_uid
        rows between unbounded preceding and unbounded following
    )
),

shared as (
    select
        one.cluster,
        min(one.node_uid) as node_uid,
        least(any_value(one.started_ms), any_value(other.started_ms)) as started_ms,
        greatest(any_value(one.known_end_ms), any_value(other.known_end_ms)) as ended_ms
    from slow_holders as one
    inner join slow_holders as other
        on
            one.cluster = other.cluster
            and one.node_uid = other.node_uid
            and one.attempt_id < other.attempt_id
            and (one.lineage_id <> other.lineage_id or one.nodes <> other.nodes)
    group by one.cluster, one.attempt_id, other.attempt_id
    having count(*) = 1
),

candidates as (
    select
        cluster,
        node_uid,
        min(started_ms) as started_ms,
        max(ended_ms) as ended_ms
    from shared
    group by cluster, node_uid
),

judged as (
    select
        segment.lineage_id,
        segment.world,
        segment.config,
        segment.attempt_id,
        coalesce(any_value(slow.is_unexplained), false) as is_slow
    from intervals.judged_segments as segment
    left join slow_attempts as slow using (attempt_id)
    where coalesce(slow.is_unexplained, true)
    group by segment.lineage_id, segment.world, segment.config, segment.attempt_id
),

with_node as (
    select
        candidate.cluster,
        candidate.node_uid,
        judged.lineage_id,
        judged.world,
        judged.config,
        judged.attempt_id
    from candidates as candidate
    inner join holders as holder
        on
            candidate.cluster = holder.cluster
            and candidate.node_uid = holder.node_uid
            and candidate.started_ms < holder.known_end_ms
            and candidate.ended_ms > holder.started_ms
    inner join judged using (attempt_id)
),

-- A gang is known by the first attempt that it ran.
gangs as (
    select
        attempt_id,
        min(attempt_id) over (partition by nodes) as gang
    from (
        select
            holder.attempt_id,
            list(holder.node_uid order by holder.node_uid) as nodes
        from holders as holder
        semi join with_node on holder.lineage_id = with_node.lineage_id
        group by holder.attempt_id
    )
),

compared as (
    select
        lineage.cluster,
        lineage.node_uid,
        lineage.lineage_id,
        lineage.world,
        lineage.config,
        gangs.gang,
        any_value(holder.node_uid is not null) as has_node,
        bool_or(judged.is_slow) as is_slow
    from (
        select distinct cluster, node_uid, lineage_id, world, config from with_node
    ) as lineage
    inner join judged
        on
            lineage.lineage_id = judged.lineage_id
            and lineage.world = judged.world
            and lineage.config = judged.config
    inner join gangs on judged.attempt_id = gangs.attempt_id
    left join holders as holder
        on
            judged.attempt_id = holder.attempt_id
            and lineage.cluster = holder.cluster
            and lineage.node_uid = holder.node_uid
    left join with_node as during
        on
            lineage.cluster = during.cluster
            and lineage.node_uid = during.node_uid
            and lineage.world = during.world
            and lineage.config = during.config
            and judged.attempt_id = during.attempt_id
    where holder.node_uid is null or during.attempt_id is not null
    group by
        lineage.cluster,
        lineage.node_uid,
        lineage.lineage_id,
        lineage.world,
        lineage.config,
        gangs.gang
),

comparable as (
    select *
    from compared
    window in_lineage as (partition by cluster, node_uid, lineage_id, world, config)
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
    from comparable
    group by cluster, node_uid
),

tossed as (
    select
        *,
        gangs_with + least(gangs_with, gangs_without) as coins,
        -- Of those without, the share that was not slow, rounded down.
        slow_with
        + (gangs_without - slow_without) * least(gangs_with, gangs_without) // gangs_without as heads
    from tallied
)

select
    * exclude (coins, heads),
    round(
        list_sum(
            list_transform(
                range(heads, coins + 1),
                lambda more: exp(
                    lgamma(coins + 1)
                    - lgamma(more + 1)
                    - lgamma(coins - more + 1)
                    - coins * ln(2)
                )
            )
        ),
        9
    ) as p_value
from tossed
where slow_with >= 2 and gangs_without - slow_without >= 2 and p_value < 0.05
