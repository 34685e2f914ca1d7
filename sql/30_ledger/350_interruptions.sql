-- Attempts that ended badly inside the window, with the class that explains them [4].
--
-- lost_gpu_ms is all time of the ledger charged to this
-- end, in GPU-milliseconds (a share counts as its share).
--
-- grain: cluster, job, attempt

with charged as (
    select cluster, cause_job as job, cause_attempt as attempt, sum(unit_ms) as unit_ms
    from ledger.gpu_time
    where cause_attempt is not null
    group by cluster, cause_job, cause_attempt
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
    attribution.competing,
    attribution.node_uid,
    attribution.rule,
    cast(coalesce(charged.unit_ms, 0) // 5040 as bigint) as lost_gpu_ms
from intervals.attribution as attribution
inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
left join catalog.taxonomy as taxonomy on attribution.class = taxonomy.class
left join charged using (cluster, job, attempt)
where
    attempt.ended_ms >= getvariable('window_start_ms')
    and attempt.ended_ms < getvariable('window_end_ms')
