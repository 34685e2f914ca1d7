-- The timelines of attempts with numbers for what they are charged with: what every pod of an attempt
-- that runs is booked as.
--
-- grain: attempt_id, started_ms

select attempt.attempt_id, line.started_ms, line.ended_ms, charge.charge_id
from intervals.attempt_timeline as line
inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
inner join intervals.charges as charge
    on
        line.state = charge.state
        and line.cause is not distinct from charge.cause
        and line.cause_job is not distinct from charge.cause_job
        and line.cause_attempt is not distinct from charge.cause_attempt
