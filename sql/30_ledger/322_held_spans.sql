-- Per device: who holds how many units when, and how many
-- are left; shares that exceed one are scaled [1.3].
--
-- held is the list of pods with their units, summing to at most 5040; free_units is the rest.
--
-- grain: cluster, node_uid, gpu, started_ms

with merged as (
    select
        cluster,
        node_uid,
        pod_uid,
        gpus,
        run,
        min(started_ms) as started_ms,
        max(ended_ms) as ended_ms
    from (
        select
            *,
            sum(is_new) over (partition by cluster, pod_uid, profile order by started_ms) as run
        from (
            select
                *,
                case
                    when lag(ended_ms) over in_pod = started_ms then 0
                    else 1
                end as is_new
            from ledger.held_pieces
            window in_pod as (partition by cluster, pod_uid, profile order by started_ms)
        )
    )
    group by cluster, node_uid, pod_uid, profile, gpus, run
),

holdings as (
    select
        merged.cluster,
        merged.node_uid,
        merged.pod_uid,
        unnest(merged.gpus) as gpu,
        merged.started_ms,
        merged.ended_ms,
        pod.unit_count
    from merged
    inner join staged.pods as pod using (cluster, pod_uid)
),

edges as (
    select cluster, node_uid, gpu, started_ms as edge_ms from holdings
    union
    select cluster, node_uid, gpu, ended_ms from holdings
    union
    select cluster, node_uid, gpu, started_ms from ledger.devices
    union
    select cluster, node_uid, gpu, ended_ms from ledger.devices
),

slots as (
    select
        *,
        lead(edge_ms) over (partition by cluster, node_uid, gpu order by edge_ms) as next_ms
    from edges
),

-- A holding is joined to the slots it spans through islands of overlapping holdings, so that a
-- device with many pods one after the other costs as many rows as it has pods.
numbered as (
    select
        *,
        sum(case when started_ms >= reach_ms or reach_ms is null then 1 else 0 end) over (
            partition by cluster, node_uid, gpu
            order by started_ms, ended_ms, pod_uid
            rows between unbounded preceding and current row
        ) as island
    from (
        select
            *,
            max(ended_ms) over (
                partition by cluster, node_uid, gpu
                order by started_ms, ended_ms, pod_uid
                rows between unbounded preceding and 1 preceding
            ) as reach_ms
        from holdings
    )
),

island_slots as (
    select
        slot.cluster,
        slot.node_uid,
        slot.gpu,
        slot.edge_ms as started_ms,
        slot.next_ms as ended_ms,
        last_value(island.island ignore nulls) over (
            partition by slot.cluster, slot.node_uid, slot.gpu
            order by slot.edge_ms
        ) as island
    from slots as slot
    left join (
        select cluster, node_uid, gpu, island, min(started_ms) as edge_ms
        from numbered
        group by cluster, node_uid, gpu, island
    ) as island using (cluster, node_uid, gpu, edge_ms)
),

shared as (
    select
        slot.cluster,
        slot.node_uid,
        slot.gpu,
        slot.started_ms,
        slot.ended_ms,
        holding.pod_uid,
        holding.unit_count,
        greatest(5040, sum(holding.unit_count) over (
            partition by slot.cluster, slot.node_uid, slot.gpu, slot.started_ms
        )) as asked_units
    from island_slots as slot
    inner join numbered as holding
        on
            slot.cluster = holding.cluster
            and slot.node_uid = holding.node_uid
            and slot.gpu = holding.gpu
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
            partition by cluster, node_uid, gpu, started_ms
        ) as floor_sum,
        row_number() over (
            partition by cluster, node_uid, gpu, started_ms
            order by (unit_count * 5040) % asked_units desc, pod_uid
        ) as place
    from shared
),

granted as (
    select
        cluster,
        node_uid,
        gpu,
        started_ms,
        ended_ms,
        list({
            'pod_uid': pod_uid,
            'unit_count':
                floor_units
                + case when asked_units > 5040 and place <= 5040 - floor_sum then 1 else 0 end
        } order by pod_uid) as held
    from scaled
    group by cluster, node_uid, gpu, started_ms, ended_ms
)

select
    slot.cluster,
    slot.node_uid,
    slot.gpu,
    slot.started_ms,
    slot.ended_ms,
    coalesce(granted.held, []) as held,
    5040 - coalesce(
        list_sum(list_transform(granted.held, lambda share: share.unit_count)), 0
    ) as free_units
from island_slots as slot
left join granted using (cluster, node_uid, gpu, started_ms)
where slot.ended_ms is not null
