-- The pace of each attempt: median time per position, and the shortest silence that is a hang [2.6].
--
-- grain: cluster, job, attempt

select
    attempt.cluster,
    attempt.job,
    attempt.attempt,
    coalesce(pace.record_count, 0) as record_count,
    pace.first_position,
    pace.first_started_ms,
    pace.last_ended_ms,
    pace.position_ms,
    greatest(
        1000 * getvariable('hang_min_s'),
        getvariable('hang_k') * coalesce(pace.position_ms, 0)
    ) as hang_ms,
    coalesce(attempt.resume_step, pace.first_position - 1) as resume_step
from intervals.lineage_attempts as attempt
left join (
    select
        cluster,
        job,
        attempt,
        count(*) as record_count,
        min_by(first, record_order) as first_position,
        min_by(started_ms, record_order) as first_started_ms,
        max(ended_ms) as last_ended_ms,
        cast(quantile_disc(position_ms, 0.5) as bigint) as position_ms
    from intervals.step_records
    group by cluster, job, attempt
) as pace using (cluster, job, attempt)
