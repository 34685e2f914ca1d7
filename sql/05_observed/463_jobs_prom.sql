-- Jobs of which only Prometheus tells, as their last attempt ended; samples show no progress.
--
-- grain: cluster, job

with ended as (
    select
        cluster,
        job,
        arg_max(outcome, attempt) as outcome,
        arg_max("end", attempt) as ended_at
    from observed.attempts_prom
    group by cluster, job
)

select
    pod.cluster,
    pod.job,
    any_value(ended.outcome) as state,
    any_value(ended.ended_at) as ended_at,
    false as instrumented,
    min(pod.job_name) as name,
    min(pod.namespace) as namespace,
    min(pod.owner_kind) as owner_kind,
    min(pod.ingested_at) as ingested_at,
    min(pod.ingested_from) as ingested_from
from observed.prom_pods as pod
inner join ended using (cluster, job)
group by pod.cluster, pod.job
