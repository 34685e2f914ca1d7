-- Free units on available nodes with their idle label;
-- without queued work there was no demand [1.7].
--
-- grain: group_id, started_ms

with groups as (
    select
        group_id,
        cluster,
        pool,
        dense_rank() over (order by cluster, pool) as pool_id
    from ledger.device_groups
),

labels as (
    select pool.pool_id, label.*
    from ledger.idle_labels as label
    inner join (select distinct cluster, pool, pool_id from groups) as pool using (cluster, pool)
),

-- Labels of a pool are disjoint. Before, between and after them nobody wanted the GPUs.
turns as (
    select distinct
        pool_id,
        cast(0 as bigint) as started_ms,
        'I.no_demand' as state,
        cast(null as varchar) as cause,
        cast(null as varchar) as cause_job,
        cast(null as integer) as cause_attempt
    from groups

    union all

    select pool_id, ended_ms, 'I.no_demand', null, null, null
    from labels

    union all

    select pool_id, started_ms, state, cause, cause_job, cause_attempt
    from labels
),

-- Empty turns are left out, so that numbers grow but have gaps.
wants as (
    select
        *,
        row_number() over in_pool as want_number,
        lead(started_ms, 1, getvariable('forever_ms')) over in_pool as ended_ms
    from turns
    window in_pool as (
        partition by pool_id
        order by started_ms, state <> 'I.no_demand'
    )
    qualify ended_ms > started_ms
),

idle as (
    select
        free.group_id,
        groups.pool_id,
        free.started_ms,
        free.ended_ms,
        free.free_units
    from ledger.free_pieces as free
    inner join groups using (group_id)
    where free.node_state = 'available'
),

begun as (
    select
        idle.*,
        want.want_number,
        want.ended_ms as want_ended_ms,
        want.state,
        want.cause,
        want.cause_job,
        want.cause_attempt
    from idle
    asof join wants as want
        on idle.pool_id = want.pool_id and idle.started_ms >= want.started_ms
),

-- The few that last longer meet those that follow, up to the last that began before their end.
longer as (
    select
        idle.group_id,
        idle.pool_id,
        idle.ended_ms,
        idle.free_units,
        unnest(range(idle.want_number + 1, last_want.want_number + 1)) as want_number
    from begun as idle
    asof join wants as last_want
        on idle.pool_id = last_want.pool_id and idle.ended_ms > last_want.started_ms
    where idle.ended_ms > idle.want_ended_ms
)

select
    group_id,
    started_ms,
    least(ended_ms, want_ended_ms) as ended_ms,
    free_units,
    state,
    cause,
    cause_job,
    cause_attempt
from begun

union all

select
    idle.group_id,
    want.started_ms,
    least(idle.ended_ms, want.ended_ms) as ended_ms,
    idle.free_units,
    want.state,
    want.cause,
    want.cause_job,
    want.cause_attempt
from longer as idle
inner join wants as want using (pool_id, want_number)
