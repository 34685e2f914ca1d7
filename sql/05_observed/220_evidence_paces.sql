-- Ranks whose own logs say that their steps take longer than the others', as evidence on their
-- node [3.4b].
--
-- Ranks in lock step wait for the slowest, and all logs say the same; where each measures its own
-- work, the slow one stands out. It must be the slowest in four of five steps that three ranks or
-- more printed, each time by 5 % of the others' median; fewer than five steps say nothing.
--
-- grain: cluster, job, attempt, rank

with gangs as (
    select cluster, job, attempt
    from observed.log_attempts
    group by cluster, job, attempt
    having count(distinct rank) >= 3
),

timed as (
    select
        owner.cluster,
        owner.job,
        owner.attempt,
        owner.rank,
        step.last as step,
        max(step.elapsed_ms) as elapsed_ms,
        min(coalesce(step.started_at, step.ended_at)) as started_at,
        max(step.ended_at) as ended_at,
        min(owner.node_uid) as node_uid,
        min(owner.pod_uid) as pod_uid,
        min(owner.path) as path,
        max(step.ingested_at) as ingested_at,
        max(step.run_id) as run_id
    from raw.log_steps as step
    inner join observed.log_attempts as owner using (cluster, log_id, segment)
    semi join gangs
        on
            owner.cluster = gangs.cluster
            and owner.job = gangs.job
            and owner.attempt = gangs.attempt
    where owner.rank is not null and step.elapsed_ms is not null
    group by owner.cluster, owner.job, owner.attempt, owner.rank, step.last
),

placed as (
    select
        timed.*,
        row_number() over (
            partition by cluster, job, attempt, step
            order by elapsed_ms desc, rank
        ) as place
    from timed
),

compared as (
    select
        cluster,
        job,
        attempt,
        step,
        min(rank) filter (where place = 1) as rank,
        max(elapsed_ms) as slowest_ms,
        median(elapsed_ms) filter (where place > 1) as others_ms
    from placed
    group by cluster, job, attempt, step
    having count(*) >= 3
),

counted as (
    select
        cluster,
        job,
        attempt,
        rank,
        count(*) filter (where slowest_ms * 100 > others_ms * 105) as slow_steps,
        sum(count(*)) over (partition by cluster, job, attempt) as steps
    from compared
    group by cluster, job, attempt, rank
)

select
    timed.cluster,
    max(timed.ended_at) as t,
    'slow_rank' as source,
    concat('rank ', timed.rank) as value,
    min(timed.node_uid) as node_uid,
    min(timed.pod_uid) as pod_uid,
    timed.job,
    timed.attempt,
    timed.rank,
    min(timed.started_at) as "from",
    max(timed.ended_at) as "to",
    min(timed.path) as origin,
    max(timed.ingested_at) as ingested_at,
    min(timed.path) as ingested_from,
    max(timed.run_id) as run_id
from timed
inner join counted using (cluster, job, attempt, rank)
where counted.steps >= 5 and counted.slow_steps * 5 >= counted.steps * 4
group by timed.cluster, timed.job, timed.attempt, timed.rank
