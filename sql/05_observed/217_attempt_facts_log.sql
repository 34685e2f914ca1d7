-- What logs add to attempts that are known from elsewhere: the step that training resumed from.
--
-- grain: cluster, job, attempt

with first_parts as (
    select *
    from observed.log_attempts
    qualify row_number() over (
        partition by cluster, job, attempt, log_id
        order by segment
    ) = 1
)

select
    cluster,
    job,
    attempt,
    max(resume_step) as resume_step
from first_parts
where resume_step is not null
group by cluster, job, attempt
