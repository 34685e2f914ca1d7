-- Per group of devices: who holds how many units when, and how many
-- are left; shares that exceed one are scaled [1.3].
--
-- held is the list of pods with their units, summing to at most 5040; free_units is the rest.
--
-- grain: group_id, started_ms

with whole as (
    select
        pod_id,
        profile_id,
        min(started_ms) as started_ms,
        max(ended_ms) as ended_ms,
        -- Pieces are disjoint: they fill their span unless some were lost to the node.
        sum(ended_ms - started_ms) < max(ended_ms) - min(started_ms) as is_broken
    from ledger.held_pieces
    group by pod_id, profile_id
),

runs as (
    select
        *,
        sum(is_new) over (partition by pod_id, profile_id order by started_ms) as run
    from (
        select
            piece.*,
            case
                when
                    lag(piece.ended_ms) over (
                        partition by piece.pod_id, piece.profile_id order by piece.started_ms
                    ) = piece.started_ms
                    then 0
                else 1
            end as is_new
        from ledger.held_pieces as piece
        semi join (
            select * from whole
            where is_broken
        ) as broken using (pod_id, profile_id)
    )
),

merged as (
    select pod_id, profile_id, started_ms, ended_ms
    from whole
    where not is_broken

    union all

    select pod_id, profile_id, min(started_ms), max(ended_ms)
    from runs
    group by pod_id, profile_id, run
),

holdings as (
    select
        held.group_id,
        merged.pod_id,
        merged.started_ms,
        merged.ended_ms,
        pod.unit_count,
        device.started_ms as paid_from_ms
    from merged
    inner join ledger.pod_groups as held using (pod_id, profile_id)
    inner join intervals.pod_devices as pod using (pod_id)
    inner join ledger.device_groups as device using (group_id)
),

-- Since when nobody held the group: since the holding before it, or since it is paid for. The rows
-- are in order, so that a window without an order of its own streams.
ordered as (
    select
        *,
        case
            when lag(group_id) over () = group_id then lag(ended_ms) over ()
            else paid_from_ms
        end as free_from_ms
    from (
        select * from holdings
        order by group_id, started_ms, ended_ms, pod_id
    )
),

-- Most groups are held by one pod after the other; only where several hold them at once are the
-- spans cut and the shares weighed.
crowded as (
    select distinct group_id
    from ordered
    where started_ms < free_from_ms
),

alone as (
    select *
    from ordered
    anti join crowded using (group_id)
),

crowded_holdings as (
    select
        *,
        max(ended_ms) over (
            partition by group_id
            order by started_ms, ended_ms, pod_id
            rows between unbounded preceding and 1 preceding
        ) as reach_ms
    from ordered
    semi join crowded using (group_id)
),

crowded_groups as (
    select *
    from ledger.device_groups
    semi join crowded using (group_id)
),

edges as (
    select group_id, started_ms as edge_ms from crowded_holdings
    union
    select group_id, ended_ms from crowded_holdings
    union
    select group_id, started_ms from crowded_groups
    union
    select group_id, ended_ms from crowded_groups
),

slots as (
    select
        *,
        lead(edge_ms) over (partition by group_id order by edge_ms) as next_ms
    from edges
),

-- A holding is joined to the slots it spans through islands of overlapping holdings, so that a
-- group with many pods one after the other costs as many rows as it has pods.
numbered as (
    select
        *,
        sum(case when started_ms >= reach_ms or reach_ms is null then 1 else 0 end) over (
            partition by group_id
            order by started_ms, ended_ms, pod_id
            rows between unbounded preceding and current row
        ) as island
    from crowded_holdings
),

island_slots as (
    select
        slot.group_id,
        slot.edge_ms as started_ms,
        slot.next_ms as ended_ms,
        last_value(island.island ignore nulls) over (
            partition by slot.group_id
            order by slot.edge_ms
        ) as island
    from slots as slot
    left join (
        select group_id, island, min(started_ms) as edge_ms
        from numbered
        group by group_id, island
    ) as island using (group_id, edge_ms)
),

shared as (
    select
        slot.group_id,
        slot.started_ms,
        slot.ended_ms,
        holding.pod_id,
        holding.unit_count,
        greatest(5040, sum(holding.unit_count) over (
            partition by slot.group_id, slot.started_ms
        )) as asked_units
    from island_slots as slot
    inner join numbered as holding
        on
            slot.group_id = holding.group_id
            and slot.island = holding.island
            and holding.started_ms <= slot.started_ms
            and holding.ended_ms >= slot.ended_ms
    where slot.ended_ms is not null
),

scaled as (
    select
        *,
        unit_count * 5040 // asked_units as floor_units,
        sum(unit_count * 5040 // asked_units) over (
            partition by group_id, started_ms
        ) as floor_sum,
        row_number() over (
            partition by group_id, started_ms
            order by (unit_count * 5040) % asked_units desc, pod_id
        ) as place
    from shared
),

granted as (
    select
        group_id,
        started_ms,
        ended_ms,
        list({
            'pod_id': pod_id,
            'unit_count':
                floor_units
                + case when asked_units > 5040 and place <= 5040 - floor_sum then 1 else 0 end
        } order by pod_id) as held
    from scaled
    group by group_id, started_ms, ended_ms
)

select
    slot.group_id,
    slot.started_ms,
    slot.ended_ms,
    coalesce(granted.held, []) as held,
    5040 - coalesce(
        list_sum(list_transform(granted.held, lambda share: share.unit_count)), 0
    ) as free_units
from island_slots as slot
left join granted using (group_id, started_ms)
where slot.ended_ms is not null

union all

select
    group_id,
    started_ms,
    ended_ms,
    [{'pod_id': pod_id, 'unit_count': unit_count}] as held,
    5040 - unit_count as free_units
from alone

union all

-- Before each holding that does not follow at once on the one before.
select
    group_id,
    free_from_ms as started_ms,
    started_ms as ended_ms,
    [] as held,
    5040 as free_units
from alone
where started_ms > free_from_ms

union all

-- After the last holding, or all the time.
select
    device.group_id,
    coalesce(last_end.ended_ms, device.started_ms) as started_ms,
    device.ended_ms,
    [] as held,
    5040 as free_units
from ledger.device_groups as device
left join (
    select group_id, max(ended_ms) as ended_ms
    from alone
    group by group_id
) as last_end using (group_id)
anti join crowded using (group_id)
where coalesce(last_end.ended_ms, device.started_ms) < device.ended_ms
