-- Attempts of jobs of which only Prometheus tells: from the first bind to the end of the last pod.
--
-- A pod that vanished without a final phase was deleted, which is not a failure of its own.
--
-- grain: cluster, job, attempt

select
    cluster,
    job,
    attempt,
    min(bound_at) as start,
    case when count(ended_at) = count(*) then max(ended_at) end as "end",
    case
        when count(ended_at) < count(*) then 'running'
        when bool_or(coalesce(final_phase = 'Failed', false)) then 'failed'
        when bool_and(coalesce(final_phase = 'Succeeded', false)) then 'succeeded'
        else 'cancelled'
    end as outcome,
    min(ingested_at) as ingested_at,
    min(ingested_from) as ingested_from
from observed.prom_pods
group by cluster, job, attempt
