-- The pace of each attempt: median time per position, and
-- the shortest silence that is a hang [2.6].
--
-- is_ragged: records overlap or positions are missing, so that they need filling and clipping.
--
-- grain: attempt_id

with firsts as (
    select
        attempt_id,
        record_id as first_record_id,
        first as first_position,
        started_ms as first_started_ms,
        lead(record_id) over in_order - record_id as record_count,
        lead(ended_before_ms) over in_order as last_ended_ms
    from intervals.step_breaks
    where is_first
    window in_order as (order by record_id)
),

ragged as (
    select distinct attempt_id
    from intervals.step_breaks
    where not is_first and (started_ms < ended_before_ms or first > last_before + 1)
)

select
    attempt.attempt_id,
    coalesce(pace.record_count, 0) as record_count,
    pace.first_record_id,
    pace.first_position,
    pace.first_started_ms,
    pace.last_ended_ms,
    median.position_ms,
    ragged.attempt_id is not null as is_ragged,
    greatest(
        1000 * getvariable('hang_min_s'),
        getvariable('hang_k') * coalesce(median.position_ms, 0)
    ) as hang_ms,
    coalesce(attempt.resume_step, pace.first_position - 1) as resume_step
from intervals.lineage_attempts as attempt
left join firsts as pace using (attempt_id)
left join ragged using (attempt_id)
left join intervals.attempt_medians as median using (attempt_id)
