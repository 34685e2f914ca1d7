-- The attempt of each part of a log.
--
-- Where nothing names the attempt: one that is known of the job from elsewhere and overlaps; else
-- the parts of all logs of the job that overlap in time are one attempt, counted from 1, because
-- the ranks of a gang run and restart together. Where rotation cut all logs of a job at once, the
-- attempt goes on if a log shows it: the new file counts on where the old one stopped.
--
-- grain: cluster, log_id, segment
-- nothing without: observed.log_owners

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
        islands.job,
        islands.log_id,
        islands.segment,
        1 + sum(case when islands.begins then 1 else 0 end) over (
            partition by islands.cluster, islands.job
            order by owner.started_at nulls last, owner.ended_at, islands.log_id, islands.segment
        ) as island
    from islands
    inner join observed.log_owners as owner using (cluster, log_id, segment)
),

parts as (
    select
        numbered.*,
        owner.outcome,
        owner.resume_step,
        part.first_step,
        -- A container that restarts begins a new file, too: <folder>/0.log, <folder>/1.log, ...
        starts_with(owner.path, concat(owner.stream, '/')) as is_run,
        lag(numbered.island) over stream_parts as island_before,
        lag(part.last_step) over stream_parts as last_step_before
    from numbered
    inner join observed.log_owners as owner using (cluster, log_id, segment)
    inner join observed.log_segments_latest as part using (cluster, log_id, segment)
    window stream_parts as (
        partition by numbered.cluster, numbered.job, owner.stream
        order by owner.started_at nulls last, owner.ended_at, numbered.log_id, numbered.segment
    )
),

ended as (
    select distinct cluster, job, island
    from parts
    where outcome is not null
),

seams as (
    select distinct parts.cluster, parts.job, parts.island
    from parts
    anti join ended
        on
            parts.cluster = ended.cluster
            and parts.job = ended.job
            and parts.island_before = ended.island
    where
        parts.segment = 0
        and not parts.is_run
        and parts.resume_step is null
        and parts.island_before = parts.island - 1
        and parts.first_step > parts.last_step_before
),

counted as (
    select
        numbered.cluster,
        numbered.log_id,
        numbered.segment,
        numbered.island - count(seams.island) as attempt
    from numbered
    left join seams
        on
            numbered.cluster = seams.cluster
            and numbered.job = seams.job
            and numbered.island >= seams.island
    group by numbered.cluster, numbered.log_id, numbered.segment, numbered.island
)

select
    owner.*,
    coalesce(owner.given_attempt, overlapping.attempt, cast(counted.attempt as integer))
        as attempt
from observed.log_owners as owner
left join overlapping using (cluster, log_id, segment)
left join counted using (cluster, log_id, segment)
