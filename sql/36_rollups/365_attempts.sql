-- Attempts of training jobs: size, what they ran on (the first by name where it was of several kinds),
-- running time inside the window, how well they were seen, and how they ended there.
--
-- grain: cluster, job, attempt

-- A pod that was replaced within the attempt took over its rank, not more GPUs.
with slots as (
    select cluster, job, attempt, gpus, node_uid
    from staged.pods
    where role = 'worker' and rank is null

    union all

    select cluster, job, attempt, max(gpus), min(node_uid)
    from staged.pods
    where role = 'worker' and rank is not null
    group by cluster, job, attempt, rank
),

sizes as (
    select
        slots.cluster,
        slots.job,
        slots.attempt,
        sum(slots.gpus) as gpus,
        min(node.pool) as pool,
        min(node.instance_type) as instance_type,
        min(node.gpu_model) as gpu_model
    from slots
    left join staged.nodes as node using (cluster, node_uid)
    group by slots.cluster, slots.job, slots.attempt
),

with_steps as (
    select attempt.cluster, attempt.job, attempt.attempt
    from intervals.attempt_pace as pace
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    where pace.record_count > 0
),

with_phases as (
    select distinct
        cluster,
        job,
        attempt
    from staged.phases
),

spans as (
    select
        attempts.cluster,
        attempts.job,
        attempts.attempt,
        attempts.outcome,
        jobs.namespace,
        jobs.team,
        ms_of(attempts.started_at) as started_ms,
        ms_of(attempts.ended_at) as ended_ms,
        row_number() over (
            partition by attempts.cluster, attempts.job order by attempts.attempt
        ) = 1 as is_first
    from staged.attempts as attempts
    inner join staged.jobs as jobs
        on attempts.cluster = jobs.cluster and attempts.job = jobs.job
    where jobs.kind = 'training'
)

select
    spans.cluster,
    spans.job,
    spans.attempt,
    spans.namespace,
    spans.team,
    spans.outcome,
    spans.is_first,
    sizes.gpus,
    job_sizes.size,
    sizes.pool,
    sizes.instance_type,
    sizes.gpu_model,
    case
        when with_steps.job is not null then 'E3' when with_phases.job is not null then 'E2'
        else 'E1'
    end as grade,
    -- An attempt that still runs has run until the knowledge time.
    greatest(
        0,
        least(
            coalesce(spans.ended_ms, getvariable('as_of_ms')), getvariable('window_end_ms')
        ) - greatest(spans.started_ms, getvariable('window_start_ms'))
    ) as running_ms,
    spans.ended_ms >= getvariable('window_start_ms')
    and spans.ended_ms < getvariable('window_end_ms') as is_ended,
    interruptions.class,
    interruptions.domain,
    taxonomy.counts_as
from spans
left join sizes
    on
        spans.cluster = sizes.cluster
        and spans.job = sizes.job
        and spans.attempt = sizes.attempt
left join catalog.job_sizes as job_sizes
    on
        sizes.gpus >= job_sizes.gpus_from
        and sizes.gpus <= coalesce(job_sizes.gpus_to, sizes.gpus)
left join with_steps
    on
        spans.cluster = with_steps.cluster
        and spans.job = with_steps.job
        and spans.attempt = with_steps.attempt
left join with_phases
    on
        spans.cluster = with_phases.cluster
        and spans.job = with_phases.job
        and spans.attempt = with_phases.attempt
left join ledger.interruptions as interruptions
    on
        spans.cluster = interruptions.cluster
        and spans.job = interruptions.job
        and spans.attempt = interruptions.attempt
left join catalog.taxonomy as taxonomy on interruptions.class = taxonomy.class
