-- Training jobs that ended inside the window, with the class of their last bad end, and the size and
-- hardware of their last attempt. What its owner stopped is neither a success nor a failure (STANDARD 5.1).
--
-- grain: cluster, job

with last_ends as (
    -- The window may hold the end of the job and not that of its last attempt.
    select
        attribution.cluster,
        attribution.job,
        attribution.class,
        taxonomy.domain
    from intervals.attribution as attribution
    inner join staged.attempts as attempts
        on
            attribution.cluster = attempts.cluster
            and attribution.job = attempts.job
            and attribution.attempt = attempts.attempt
    left join catalog.taxonomy as taxonomy on attribution.class = taxonomy.class
    qualify row_number() over (
        partition by attribution.cluster, attribution.job
        order by attempts.started_at desc, attempts.attempt desc
    ) = 1
),

places as (
    select
        cluster,
        job,
        arg_max(size, attempt) as size,
        arg_max(pool, attempt) as pool,
        arg_max(instance_type, attempt) as instance_type,
        arg_max(gpu_model, attempt) as gpu_model
    from rollups.attempts
    group by cluster, job
)

select
    jobs.cluster,
    jobs.job,
    jobs.namespace,
    jobs.team,
    places.size,
    places.pool,
    places.instance_type,
    places.gpu_model,
    jobs.state,
    last_ends.class,
    case when jobs.state = 'failed' then coalesce(last_ends.domain, 'unknown') end as domain,
    jobs.state = 'succeeded' as is_success,
    jobs.state = 'failed' and coalesce(last_ends.domain <> 'user', true) as is_failure
from staged.jobs as jobs
left join last_ends on jobs.cluster = last_ends.cluster and jobs.job = last_ends.job
left join places on jobs.cluster = places.cluster and jobs.job = places.job
where
    jobs.kind = 'training'
    and jobs.ended_at >= getvariable('window_start')
    and jobs.ended_at < getvariable('window_end')
