-- The one log of an attempt that supplies its steps and phases: every rank prints the same steps.
--
-- Most step records, then the lowest rank, then the first name. The parts of a rotated log count
-- together.
--
-- grain: cluster, job, attempt

with records as (
    select cluster, log_id, segment, count(distinct line) as records
    from raw.log_steps
    group by cluster, log_id, segment
)

select attempts.cluster, attempts.job, attempts.attempt, attempts.stream
from observed.log_attempts as attempts
left join records using (cluster, log_id, segment)
group by attempts.cluster, attempts.job, attempts.attempt, attempts.stream
qualify row_number() over (
    partition by attempts.cluster, attempts.job, attempts.attempt
    order by
        sum(coalesce(records.records, 0)) desc,
        min(attempts.rank) nulls last,
        attempts.stream
) = 1
