-- Lost GPU time by failure class, with what it stopped and who acts on it. `unattributed_gpu_hours`
-- is the part whose cause is unknown, or not confident enough to be named; `lost_dollars` is null
-- where no GPU has a price.
--
-- grain: class

with booked as (
    select
        cause as class,
        sum(unit_ms) as unit_ms,
        sum(case when is_attributed then 0 else unit_ms end) as unattributed_unit_ms,
        count(distinct case when job is not null then (cluster, job) end) as job_count
    from rollups.gpu_time
    where is_lost and cluster = member
    group by cause
),

stopped as (
    select
        class,
        count(*) as interruption_count
    from ledger.interruptions
    group by class
),

out_of_service as (
    select
        class,
        count(*) as outage_count
    from rollups.node_outages
    where
        not is_birth
        and started_ms < getvariable('window_end_ms')
        and coalesce(ended_ms, getvariable('window_end_ms')) > getvariable('window_start_ms')
    group by class
),

money as (
    select
        scope_value as class,
        sum(value) as lost_dollars
    from metrics.money
    where metric = 'lost_cost_dollars' and scope = 'class' and cluster <> '*'
    group by scope_value
),

known as (
    select class from booked
    union
    select class from stopped
)

select
    known.class,
    coalesce(causes.label, known.class) as class_label,
    coalesce(taxonomy.domain, 'unknown') as domain,
    causes.owner,
    causes.action,
    coalesce(booked.unit_ms, 0) as unit_ms,
    coalesce(booked.unit_ms, 0) / 5040 / 3600000 as gpu_hours,
    coalesce(booked.unattributed_unit_ms, 0) / 5040 / 3600000 as unattributed_gpu_hours,
    coalesce(stopped.interruption_count, 0) as interruption_count,
    coalesce(out_of_service.outage_count, 0) as outage_count,
    coalesce(booked.job_count, 0) as job_count,
    money.lost_dollars
from known
left join booked on known.class = booked.class
left join stopped on known.class = stopped.class
left join out_of_service on known.class = out_of_service.class
left join money on known.class = money.class
left join catalog.taxonomy as taxonomy on known.class = taxonomy.class
left join catalog.causes as causes on known.class = causes.class
