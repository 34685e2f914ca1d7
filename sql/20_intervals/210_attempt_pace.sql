-- The pace of each attempt: median time per position, and
-- the shortest silence that is a hang [2.6].
--
-- is_ragged: records overlap or positions are missing, so that they need filling and clipping.
--
-- grain: attempt_id

select
    attempt.attempt_id,
    coalesce(pace.record_count, 0) as record_count,
    pace.first_record_id,
    pace.first_position,
    pace.first_started_ms,
    pace.last_ended_ms,
    median.position_ms,
    coalesce(pace.is_ragged, false) as is_ragged,
    greatest(
        1000 * getvariable('hang_min_s'),
        getvariable('hang_k') * coalesce(median.position_ms, 0)
    ) as hang_ms,
    coalesce(attempt.resume_step, pace.first_position - 1) as resume_step
from intervals.lineage_attempts as attempt
left join (
    select
        attempt_id,
        count(*) as record_count,
        min(record_id) as first_record_id,
        min(first) filter (where is_first) as first_position,
        min(started_ms) filter (where is_first) as first_started_ms,
        max(ended_ms) as last_ended_ms,
        bool_or(started_ms < prev_ended_ms or first > prev_last + 1) as is_ragged
    from intervals.step_sequence
    group by attempt_id
) as pace using (attempt_id)
left join intervals.attempt_medians as median using (attempt_id)
