-- Free units on available nodes with their idle label;
-- without queued work there was no demand [1.7].
--
-- grain: group_id, started_ms

with idle as (
    select *, row_number() over (order by group_id, started_ms) as idle_id
    from ledger.free_pieces
    where node_state = 'available'
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
    from idle
    inner join ledger.idle_labels as label
        on
            idle.cluster = label.cluster
            and idle.pool = label.pool
            and idle.started_ms < label.ended_ms
            and idle.ended_ms > label.started_ms
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
