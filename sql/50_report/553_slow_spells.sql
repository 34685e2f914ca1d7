-- Stretches in which the steps of an attempt took longer than the best of its lineage, and why.
--
-- grain: cluster, job, attempt, started_at
-- nothing without: intervals.slow_segments

select
    segment.cluster,
    segment.job,
    coalesce(jobs.name, segment.job) as job_name,
    jobs.namespace,
    jobs.team,
    segment.attempt,
    instant_of(min(segment.started_ms)) as started_at,
    instant_of(max(segment.ended_ms)) as ended_at,
    sum(segment.record_count) as record_count,
    arg_max(segment.median_ms, segment.record_count) as median_ms,
    arg_max(segment.baseline_ms, segment.record_count) as baseline_ms,
    segment.class,
    coalesce(causes.label, segment.class) as class_label,
    segment.basis,
    nodes.node_name,
    min(segment.confidence) as confidence
from intervals.slow_segments as segment
left join catalog.causes as causes on segment.class = causes.class
left join staged.jobs as jobs on segment.cluster = jobs.cluster and segment.job = jobs.job
left join report.nodes as nodes
    on segment.cluster = nodes.cluster and segment.node_uid = nodes.node_uid
where
    segment.started_ms < getvariable('window_end_ms')
    and segment.ended_ms > getvariable('window_start_ms')
group by
    segment.cluster,
    segment.job,
    jobs.name,
    jobs.namespace,
    jobs.team,
    segment.attempt,
    segment.zone,
    segment.setting_id,
    segment.class,
    causes.label,
    segment.basis,
    nodes.node_name
