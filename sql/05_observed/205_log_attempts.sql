-- The attempt of each part of a log.
--
-- Where nothing names the attempt: one that is known of the job from elsewhere and overlaps; else
-- the parts of all logs of the job that overlap in time are one attempt, counted from 1, because
-- the ranks of a gang run and restart together.
--
-- grain: cluster, log_id, segment

with known as (
    select cluster, job, attempt, start as started_at, "end" as ended_at
    from observed.attempts_kube

    union

    select cluster, job, attempt, start as started_at, "end" as ended_at
    from raw.attempts
),

overlapping as (
    select owner.cluster, owner.log_id, owner.segment, known.attempt
    from observed.log_owners as owner
    inner join known using (cluster, job)
    where
        owner.given_attempt is null
        and owner.started_at < coalesce(known.ended_at, 'infinity')
        and coalesce(owner.ended_at, owner.started_at) >= known.started_at
    qualify row_number() over (
        partition by owner.cluster, owner.log_id, owner.segment
        order by
            least(coalesce(owner.ended_at, owner.started_at), coalesce(known.ended_at, 'infinity'))
            - greatest(owner.started_at, known.started_at) desc,
            known.attempt desc
    ) = 1
),

islands as (
    select
        cluster,
        job,
        log_id,
        segment,
        -- The first begins nothing new: its maximum over none is null.
        count(*) over earlier > 0
        and (started_at is null or started_at >= max(ended_at) over earlier) as begins
    from observed.log_owners
    where given_attempt is null
    window earlier as (
        partition by cluster, job
        order by started_at nulls last, ended_at, log_id, segment
        rows between unbounded preceding and 1 preceding
    )
),

numbered as (
    select
        islands.cluster,
        islands.log_id,
        islands.segment,
        1 + sum(case when islands.begins then 1 else 0 end) over (
            partition by islands.cluster, islands.job
            order by owner.started_at nulls last, owner.ended_at, islands.log_id, islands.segment
        ) as attempt
    from islands
    inner join observed.log_owners as owner using (cluster, log_id, segment)
)

select
    owner.*,
    coalesce(owner.given_attempt, overlapping.attempt, cast(numbered.attempt as integer))
        as attempt
from observed.log_owners as owner
left join overlapping using (cluster, log_id, segment)
left join numbered using (cluster, log_id, segment)
