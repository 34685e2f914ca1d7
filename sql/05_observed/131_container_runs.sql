-- Every run of every container that its pod's states show: start, end and exit.
--
-- Kubernetes keeps the current run and the one before. While a container waits to be restarted, its
-- last state is the run that the counter already counts.
--
-- grain: cluster, pod_uid, container, run

with containers as (
    select cluster, pod_uid, first_seen_at, unnest(containers) as status
    from observed.pod_versions
),

current_runs as (
    select
        cluster,
        pod_uid,
        status.name as container,
        coalesce(status."restartCount", 0) as run,
        coalesce(status.state.running."startedAt", status.state.terminated."startedAt")
            as started_at,
        status.state.terminated as terminated,
        first_seen_at
    from containers
    where
        status.state.running."startedAt" is not null
        or status.state.terminated."exitCode" is not null
),

last_runs as (
    select
        cluster,
        pod_uid,
        status.name as container,
        case
            when
                status.state.running."startedAt" is null
                and status.state.terminated."exitCode" is null
                then coalesce(status."restartCount", 0)
            else coalesce(status."restartCount", 0) - 1
        end as run,
        status."lastState".terminated."startedAt" as started_at,
        status."lastState".terminated as terminated,
        first_seen_at
    from containers
    where status."lastState".terminated."exitCode" is not null
)

select
    cluster,
    pod_uid,
    container,
    run,
    min(started_at) as started_at,
    min(terminated."finishedAt") as finished_at,
    arg_min(terminated."exitCode", coalesce(first_seen_at, 'epoch')) as exit_code,
    arg_min(terminated.reason, coalesce(first_seen_at, 'epoch')) as reason
from (select * from current_runs union all select * from last_runs)
where run >= 0
group by cluster, pod_uid, container, run
