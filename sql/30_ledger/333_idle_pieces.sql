-- Free units on available nodes with their idle label;
-- without queued work there was no demand [1.7].
--
-- grain: group_id, started_ms

with idle as (
    select *, row_number() over () as idle_id
    from ledger.free_pieces
    where node_state = 'available'
),

labels as (
    select
        *,
        row_number() over (partition by cluster, pool order by started_ms) as label_number
    from ledger.idle_labels
),

-- Labels of a pool are disjoint: an idle span meets those from the last one that began before it
-- to the last one that began before its end.
reached as (
    select
        idle.*,
        unnest(range(coalesce(first_label.label_number, 1), last_label.label_number + 1))
            as label_number
    from idle
    asof left join labels as first_label
        on
            idle.cluster = first_label.cluster
            and idle.pool = first_label.pool
            and idle.started_ms >= first_label.started_ms
    asof join labels as last_label
        on
            idle.cluster = last_label.cluster
            and idle.pool = last_label.pool
            and idle.ended_ms > last_label.started_ms
),

wanted as (
    select
        idle.idle_id,
        idle.group_id,
        greatest(idle.started_ms, label.started_ms) as started_ms,
        least(idle.ended_ms, label.ended_ms) as ended_ms,
        idle.ended_ms as idle_end_ms,
        idle.free_units,
        label.state,
        label.cause,
        label.cause_job,
        label.cause_attempt
    from reached as idle
    inner join labels as label using (cluster, pool, label_number)
    where label.ended_ms > idle.started_ms
),

-- Between and around the wanted pieces of an idle span nobody wanted the GPU.
edges as (
    select
        idle_id,
        group_id,
        free_units,
        started_ms,
        ended_ms as idle_end_ms,
        started_ms as next_free_ms,
        false as is_wanted
    from idle

    union all

    select
        idle_id,
        group_id,
        free_units,
        started_ms,
        idle_end_ms,
        ended_ms,
        true
    from wanted
),

unwanted as (
    select
        group_id,
        free_units,
        next_free_ms as started_ms,
        lead(started_ms, 1, idle_end_ms) over (
            partition by idle_id
            order by started_ms, is_wanted
        ) as ended_ms
    from edges
)

select
    group_id,
    started_ms,
    ended_ms,
    free_units,
    state,
    cause,
    cause_job,
    cause_attempt
from wanted

union all

select
    group_id,
    started_ms,
    ended_ms,
    free_units,
    'I.no_demand',
    null,
    null,
    null
from unwanted
where ended_ms > started_ms
