-- Jobs in their newest known version; what ended after the knowledge time still runs.
--
-- grain: cluster, job

with newest as (
    select *
    from gathered.jobs
    qualify row_number() over (
        partition by cluster, job
        order by ingested_at desc nulls last, run_id desc nulls last, row_id desc nulls last
    ) = 1
)

select
    cluster,
    job,
    coalesce(name, job) as name,
    namespace,
    team,
    coalesce(kind, 'training') as kind,
    case
        when ended_at > getvariable('as_of') then 'running'
        else coalesce(state, 'running')
    end as state,
    known(ended_at) as ended_at,
    coalesce(lineage, job) as lineage,
    coalesce(instrumented, true) as is_instrumented,
    submitted_at,
    owner_kind
from newest
