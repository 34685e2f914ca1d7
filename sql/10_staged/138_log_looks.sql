-- When somebody last looked at the log that supplies the steps of an attempt that is still open, and below
-- which root: what the log says of later is not known [0.5, 2.6].
--
-- Of the parts of a rotated log it is the last one that counts. A log that is as it was leaves no row; then a
-- listing of its root vouches for it, unless the listing says that it could not see the log, or the log was
-- gone from the root by then. A dump is one look, at the newest instant that it tells of. Left out is an
-- attempt of which typed rows or a tracker tell steps or phases, too, as nobody knows when somebody looked
-- at these.
--
-- Where nobody looks at the pods of the attempt any more, its silence says nothing: it may be over. So
-- `known_until` is the last look at log and pods alike, or the last line of the log if that is later.
--
-- grain: cluster, job, attempt
-- nothing without: observed.step_streams

with supplies as (
    select
        attempt.cluster,
        attempt.job,
        attempt.attempt,
        part.log_id,
        max(part.ended_at) as told_until
    from staged.attempts as attempt
    inner join observed.step_streams as supply using (cluster, job, attempt)
    inner join observed.log_attempts as part using (cluster, job, attempt, stream)
    where attempt.ended_at is null
    group by attempt.cluster, attempt.job, attempt.attempt, part.log_id
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
    semi join supplies using (cluster, job, attempt)
),

readings as (
    select
        cluster,
        log_id,
        root,
        list(distinct path) as paths,
        max(modified_at) as modified_at,
        max(ingested_at) as known_at,
        max(ingested_at) filter (where gone_at is null) as read_at,
        max_by(coalesce(gone_at, 'infinity'::timestamptz), ingested_at) as gone_at
    from raw.log_reads
    semi join supplies using (cluster, log_id)
    where root is not null
    group by cluster, log_id, root
),

last_logs as (
    select supply.cluster, supply.job, supply.attempt, supply.log_id
    from supplies as supply
    left join readings as reading using (cluster, log_id)
    qualify row_number() over (
        partition by supply.cluster, supply.job, supply.attempt
        order by
            supply.told_until desc nulls last,
            reading.modified_at desc nulls last,
            reading.known_at desc nulls last,
            supply.log_id
    ) = 1
),

logs as (
    select reading.*
    from readings as reading
    semi join last_logs using (cluster, log_id)
),

listings as (
    select
        cluster,
        root,
        listed_at,
        unseen,
        dense_rank() over (partition by cluster, root order by listed_at) as number
    from raw.log_lists
    semi join logs using (cluster, root)
    where listed_at <= getvariable('as_of') and unseen is not null
),

-- What stays unseen does so in one listing after the other: a span of their numbers stands for them all.
misses as (
    select cluster, root, place, min(number) as first_number, max(number) as last_number
    from (
        select
            *,
            number - row_number() over (partition by cluster, root, place order by number) as island
        from (select distinct cluster, root, number, unnest(unseen) as place from listings)
    )
    group by cluster, root, place, island
),

-- A place hides itself and what lies below. A pulled log is read in parts: <log>.20260302-060000.
hiding_places as (
    select
        cluster,
        log_id,
        root,
        unnest(
            [path] || list_transform(
                list_filter(range(1, length(path) + 1), lambda i: path[i] in ('/', '.')),
                lambda i: left(path, i - 1)
            )
        ) as place
    from (select cluster, log_id, root, unnest(paths) as path from logs)
),

log_misses as (
    select distinct log.cluster, log.log_id, log.root, miss.first_number, miss.last_number
    from hiding_places as log
    inner join misses as miss using (cluster, root, place)
),

merged_misses as (
    select cluster, log_id, root, min(first_number) as first_number, max(last_number) as last_number
    from (
        select
            *,
            sum(case when first_number <= reach + 1 then 0 else 1 end) over (
                partition by cluster, log_id, root order by first_number, last_number
            ) as island
        from (
            select
                *,
                max(last_number) over (
                    partition by cluster, log_id, root
                    order by first_number, last_number
                    rows between unbounded preceding and 1 preceding
                ) as reach
            from log_misses
        )
    )
    group by cluster, log_id, root, island
),

-- The last listing while the log was there, or the last one before it that saw the log.
vouching as (
    select
        log.cluster,
        log.log_id,
        log.root,
        coalesce(miss.first_number - 1, log.number) as number
    from (
        select logs.cluster, logs.log_id, logs.root, listings.number
        from logs
        asof inner join listings
            on
                logs.cluster = listings.cluster
                and logs.root = listings.root
                and logs.gone_at > listings.listed_at
    ) as log
    left join merged_misses as miss
        on
            log.cluster = miss.cluster
            and log.log_id = miss.log_id
            and log.root = miss.root
            and log.number between miss.first_number and miss.last_number
),

dumped_logs as (
    select
        log.cluster,
        log.log_id,
        file.run_id,
        regexp_replace(file.path, '/[^/]*$', '') as root
    from last_logs as log
    anti join readings using (cluster, log_id)
    inner join observed.log_files_latest as file using (cluster, log_id)
),

dumps as (
    select cluster, run_id, max(told_at) as looked_at
    from (
        select cluster, run_id, last_at as told_at from raw.log_files
        union all
        select cluster, run_id, observed_at from raw.kube_lists
    )
    semi join dumped_logs using (cluster, run_id)
    group by cluster, run_id
),

looks as (
    select vouching.cluster, vouching.log_id, vouching.root, listing.listed_at as looked_at
    from vouching
    inner join (select distinct cluster, root, number, listed_at from listings) as listing
        using (cluster, root, number)

    union all

    select cluster, log_id, root, read_at
    from logs
    where read_at is not null

    union all

    select log.cluster, log.log_id, log.root, dump.looked_at
    from dumped_logs as log
    inner join dumps as dump using (cluster, run_id)
    where dump.looked_at is not null
),

last_looks as (
    select
        log.cluster,
        log.job,
        log.attempt,
        max_by(look.root, (look.looked_at, look.root)) as root,
        max(look.looked_at) as looked_at
    from last_logs as log
    inner join looks as look using (cluster, log_id)
    anti join told_elsewhere using (cluster, job, attempt)
    group by log.cluster, log.job, log.attempt
),

last_lines as (
    select cluster, job, attempt, max(told_until) as told_until
    from supplies
    group by cluster, job, attempt
)

select
    look.cluster,
    look.job,
    look.attempt,
    look.root,
    look.looked_at,
    pod.seen_at,
    case
        when pod.seen_at < look.looked_at
            then least(greatest(pod.seen_at, line.told_until), look.looked_at)
        else look.looked_at
    end as known_until
from last_looks as look
inner join last_lines as line using (cluster, job, attempt)
left join staged.pod_looks as pod using (cluster, job, attempt)
