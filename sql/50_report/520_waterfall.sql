-- Paid GPU time by state, in the order of the waterfall from paid to productive.
--
-- grain: state

with booked as (
    select
        state,
        sum(unit_ms) as unit_ms
    from rollups.gpu_time
    where cluster = member
    group by state
)

select
    booked.state,
    coalesce(states.label, booked.state) as state_label,
    coalesce(states.position, 999) as state_position,
    coalesce(states.state_group, 'unknown') as state_group,
    booked.unit_ms,
    booked.unit_ms / 5040 / 3600000 as gpu_hours
from booked
left join catalog.states as states on booked.state = states.state
