-- The state of every paid node or device profile through the window, available spans included.
--
-- grain: cluster, node_uid, profile, started_ms

with paid as (
    select distinct
        cluster,
        node_uid,
        pool,
        profile,
        profile_id,
        started_ms,
        ended_ms
    from ledger.devices
),

abnormal as (
    select
        paid.cluster,
        paid.node_uid,
        paid.pool,
        paid.profile,
        greatest(state.started_ms, paid.started_ms) as started_ms,
        least(state.ended_ms, paid.ended_ms) as ended_ms,
        state.node_state,
        state.is_planned,
        state.in_service,
        state.ok_open,
        state.ok_closed,
        outage.started_ms as outage_started_ms,
        outage.class as outage_class
    from intervals.node_states as state
    inner join paid
        on
            state.cluster = paid.cluster
            and state.node_uid = paid.node_uid
            and state.profile = paid.profile
    left join intervals.outages as outage
        on
            state.cluster = outage.cluster
            and state.node_uid = outage.node_uid
            and state.profile = outage.profile
            and state.island = outage.island
    where state.ended_ms > paid.started_ms and state.started_ms < paid.ended_ms
),

-- Available: before the first abnormal span, and after each until the next.
gaps as (
    select
        cluster,
        node_uid,
        pool,
        profile,
        started_ms as gap_start_ms,
        ended_ms as paid_end_ms
    from paid

    union all

    select
        abnormal.cluster,
        abnormal.node_uid,
        abnormal.pool,
        abnormal.profile,
        abnormal.ended_ms,
        paid.ended_ms
    from abnormal
    inner join paid using (cluster, node_uid, profile)
),

available as (
    select
        gap.cluster,
        gap.node_uid,
        gap.pool,
        gap.profile,
        gap.gap_start_ms as started_ms,
        coalesce(
            lead(gap.started_ms) over (
                partition by gap.cluster, gap.node_uid, gap.profile
                order by gap.started_ms, gap.is_abnormal
            ),
            gap.paid_end_ms
        ) as ended_ms,
        gap.is_abnormal
    from (
        select
            cluster,
            node_uid,
            pool,
            profile,
            gap_start_ms,
            paid_end_ms,
            gap_start_ms as started_ms,
            false as is_abnormal
        from gaps

        union all

        select
            abnormal.cluster,
            abnormal.node_uid,
            abnormal.pool,
            abnormal.profile,
            null,
            paid.ended_ms,
            abnormal.started_ms,
            true
        from abnormal
        inner join paid using (cluster, node_uid, profile)
    ) as gap
),

pieces as (
    select
        cluster,
        node_uid,
        pool,
        profile,
        started_ms,
        ended_ms,
        node_state,
        is_planned,
        in_service,
        ok_open,
        ok_closed,
        outage_started_ms,
        outage_class
    from abnormal

    union all

    select
        cluster,
        node_uid,
        pool,
        profile,
        started_ms,
        ended_ms,
        'available',
        false,
        true,
        true,
        true,
        null,
        null
    from available
    where not is_abnormal and ended_ms > started_ms
)

select piece.*, paid.profile_id
from pieces as piece
inner join paid using (cluster, node_uid, profile)
