-- Lost GPU time by failure class and by what was happening instead of progress. Time without a
-- cause and productive time are not in it, so it adds up to identity C4 of the standard.
--
-- grain: class, state_group

select
    gpu_time.cause as class,
    coalesce(states.state_group, 'unknown') as state_group,
    sum(gpu_time.unit_ms) as unit_ms,
    sum(gpu_time.unit_ms) / 5040 / 3600000 as gpu_hours
from rollups.gpu_time as gpu_time
left join catalog.states as states on gpu_time.state = states.state
where gpu_time.is_lost and gpu_time.cluster = gpu_time.member
group by gpu_time.cause, coalesce(states.state_group, 'unknown')
