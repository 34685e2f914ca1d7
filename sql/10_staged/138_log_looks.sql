-- When somebody last looked at the log that supplies the steps of an attempt that is still open, and below
-- which root: what the log says of later is not known [0.5, 2.6].
--
-- A log that is as it was leaves no row; then a listing of its root vouches for it, unless the listing says
-- that it could not see the log. Left out is an attempt of which typed rows or a tracker tell steps or
-- phases, too, as nobody knows when somebody looked at these, and one whose log a dump brought.
--
-- grain: cluster, job, attempt

with logs as (
    select
        attempt.cluster,
        attempt.job,
        attempt.attempt,
        list(distinct reading.path) as paths,
        list(distinct reading.root) as roots,
        max(reading.ingested_at) as read_at,
        max_by(reading.root, (reading.ingested_at, reading.root)) as read_root
    from staged.attempts as attempt
    inner join observed.step_streams as supply using (cluster, job, attempt)
    inner join observed.log_attempts as part using (cluster, job, attempt, stream)
    inner join raw.log_reads as reading using (cluster, log_id)
    where attempt.ended_at is null and reading.root is not null
    group by attempt.cluster, attempt.job, attempt.attempt
),

-- Of few attempts only: there may be many millions of steps.
told_elsewhere as (
    select distinct cluster, job, attempt
    from (
        select cluster, job, attempt from raw.steps
        union all
        select cluster, job, attempt from raw.step_logs
        union all
        select cluster, job, attempt from observed.steps_tracker
        union all
        select cluster, job, attempt from raw.phases
        union all
        select cluster, job, attempt from observed.phases_tracker
    )
    semi join logs using (cluster, job, attempt)
),

-- Of listings that missed the same, the newest tells all.
listings as (
    select cluster, root, unseen, max(listed_at) as listed_at
    from raw.log_lists
    where listed_at <= getvariable('as_of') and unseen is not null
    group by cluster, root, unseen
),

looks as (
    select log.cluster, log.job, log.attempt, log.root, listing.listed_at as looked_at
    from (select cluster, job, attempt, paths, unnest(roots) as root from logs) as log
    inner join listings as listing using (cluster, root)
    where
        -- A pulled log is read in parts: <log>.20260302-060000.
        not list_bool_or(list_transform(
            listing.unseen,
            lambda place: list_bool_or(list_transform(
                log.paths,
                lambda path: starts_with(concat(path, '/'), concat(place, '/'))
                or starts_with(path, concat(place, '.'))
            ))
        ) || [false])

    union all

    select cluster, job, attempt, read_root, read_at
    from logs
)

select
    cluster,
    job,
    attempt,
    max_by(root, (looked_at, root)) as root,
    max(looked_at) as looked_at
from looks
anti join told_elsewhere using (cluster, job, attempt)
group by cluster, job, attempt
