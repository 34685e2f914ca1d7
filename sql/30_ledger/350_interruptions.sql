-- Attempts that ended badly inside the window, with the class that explains them [4].
--
-- lost_gpu_ms is all time of the ledger charged to this end, in GPU-milliseconds (a share counts as its
-- share), waited_gpu_ms the part of it of GPUs that were idle meanwhile. caused_by is set where a
-- preemption made room for the restart of another job: the class of that job's end.
--
-- grain: cluster, job, attempt
-- nothing without: intervals.attribution

with charged as (
    select
        device.cluster,
        charge.cause_job as job,
        charge.cause_attempt as attempt,
        sum(booked.unit_ms) as unit_ms,
        sum(case when charge.state like 'I.%' then booked.unit_ms else 0 end) as waited_unit_ms
    from ledger.charged_shares as booked
    inner join ledger.device_groups as device using (group_id)
    inner join ledger.charges as charge using (charge_id)
    where charge.cause_attempt is not null
    group by device.cluster, charge.cause_job, charge.cause_attempt
)

select
    attribution.cluster,
    attribution.job,
    attribution.attempt,
    instant_of(attempt.ended_ms) as "at",
    attribution.outcome,
    attribution.class,
    taxonomy.domain,
    attribution.confidence,
    attribution.confidence_terms,
    attribution.competing,
    attribution.node_uid,
    attribution.rule,
    member.incident,
    preemptor.caused_by,
    preemptor.caused_by_job,
    preemptor.caused_by_attempt,
    cast(coalesce(charged.unit_ms, 0) // 5040 as bigint) as lost_gpu_ms,
    cast(coalesce(charged.waited_unit_ms, 0) // 5040 as bigint) as waited_gpu_ms
from intervals.attribution as attribution
inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
inner join intervals.incident_members as member using (cluster, job, attempt)
left join intervals.preemptors as preemptor using (cluster, job, attempt)
left join catalog.taxonomy as taxonomy on attribution.class = taxonomy.class
left join charged using (cluster, job, attempt)
where
    attempt.ended_ms >= getvariable('window_start_ms')
    and attempt.ended_ms < getvariable('window_end_ms')
