-- The runs of each attempt hold each of its step records once.
--
-- grain: row
-- severity: error

select
    pace.attempt_id,
    pace.record_count,
    sum((run.last_key - run.first_key) // 2 + 1) as held_count
from intervals.attempt_pace as pace
inner join intervals.step_runs as run using (attempt_id)
where not run.is_synthetic
group by pace.attempt_id, pace.record_count
having pace.record_count <> sum((run.last_key - run.first_key) // 2 + 1)
