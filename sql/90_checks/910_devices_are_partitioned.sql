-- Every paid device is booked 5040 units at every instant: no gap and no overlap [C1].
--
-- Devices are booked in groups, and gangs in crews; other checks tell that each device stands in a
-- group and that the pieces of a crew fill it.
--
-- grain: row
-- severity: error

-- Where an entry goes on with the units of the one before it, nothing changes: most need no sum.
with entries as (
    select
        *,
        group_id = lag(group_id) over ()
        and started_ms = lag(ended_ms) over ()
        and unit_count = lag(unit_count) over () as goes_on,
        group_id = lead(group_id) over ()
        and ended_ms = lead(started_ms) over ()
        and unit_count = lead(unit_count) over () as is_followed
    from (
        select group_id, started_ms, ended_ms, unit_count
        from ledger.entries
        order by group_id, started_ms
    )
),

changes as (
    select group_id, started_ms as changed_ms, unit_count as unit_change
    from entries
    where goes_on is not true

    union all

    select group_id, ended_ms, -unit_count
    from entries
    where is_followed is not true

    union all

    select
        group_id,
        unnest([started_ms, ended_ms]),
        unnest([-5040 * len(gpus), 5040 * len(gpus)])
    from ledger.device_groups
),

summed as (
    select group_id, changed_ms, sum(unit_change) as unit_change
    from changes
    group by group_id, changed_ms
    having sum(unit_change) <> 0
),

balanced as (
    select
        group_id,
        changed_ms,
        sum(unit_change) over (partition by group_id order by changed_ms) as excess_units
    from summed
)

select
    device.cluster,
    device.node_uid,
    device.gpus,
    instant_of(balanced.changed_ms) as changed_at,
    balanced.excess_units
from balanced
inner join ledger.device_groups as device using (group_id)
where balanced.excess_units <> 0
