-- Attempts that ended badly in the window, with the failure class decided and what the end cost.
--
-- grain: cluster, job, attempt
-- nothing without: ledger.interruptions

select
    interruptions.cluster,
    interruptions.job,
    coalesce(jobs.name, interruptions.job) as job_name,
    jobs.namespace,
    jobs.team,
    interruptions.attempt,
    interruptions."at" as interrupted_at,
    interruptions.outcome,
    interruptions.class,
    interruptions.domain,
    interruptions.confidence,
    interruptions.confidence >= getvariable('report_conf') as is_attributed,
    interruptions.competing,
    interruptions.node_uid,
    nodes.node_name,
    interruptions.rule,
    interruptions.lost_gpu_ms / 3600000 as lost_gpu_hours,
    interruptions.waited_gpu_ms / 3600000 as waited_gpu_hours
from ledger.interruptions as interruptions
left join staged.jobs as jobs
    on interruptions.cluster = jobs.cluster and interruptions.job = jobs.job
left join report.nodes as nodes
    on interruptions.cluster = nodes.cluster and interruptions.node_uid = nodes.node_uid
