-- How long jobs hung before somebody or something ended the attempt, and how long silences lasted from
-- which they came back: what a time-out can be lowered to.
--
-- A hang is counted when the attempt ended in it, inside the window, and not by success.
-- recovered_s is the longest silence or hang of the job after which it made another step, at any time.
--
-- grain: cluster, job

with silences as (
    select
        timeline.cluster,
        timeline.job,
        timeline.attempt,
        attempt.ended_ms as attempt_ended_ms,
        attempt.outcome,
        timeline.ended_ms - timeline.started_ms as silent_ms,
        timeline.ended_ms = attempt.ended_ms as is_last,
        timeline.state
    from intervals.attempt_timeline as timeline
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    where timeline.state in ('A.hang', 'A.overhead')
),

floors as (
    select cluster, job, max(hang_ms) / 1000 as shortest_hang_s
    from intervals.attempt_pace
    inner join intervals.lineage_attempts using (attempt_id)
    group by cluster, job
),

recovered as (
    select cluster, job, max(silent_ms) / 1000 as recovered_s
    from silences
    where not is_last
    group by cluster, job
),

hangs as (
    select
        silences.cluster,
        silences.job,
        silences.silent_ms / 1000 as detection_s,
        attempt.gpus
    from silences
    inner join rollups.attempts as attempt using (cluster, job, attempt)
    where
        silences.is_last
        and silences.state = 'A.hang'
        and silences.outcome is distinct from 'succeeded'
        and silences.attempt_ended_ms >= getvariable('window_start_ms')
        and silences.attempt_ended_ms < getvariable('window_end_ms')
)

select
    hangs.cluster,
    hangs.job,
    coalesce(any_value(job.name), hangs.job) as job_name,
    count(*) as hang_count,
    median(hangs.detection_s) as median_detection_s,
    list(hangs.detection_s order by hangs.detection_s) as detections_s,
    list(hangs.gpus order by hangs.detection_s) as hung_gpus,
    sum(hangs.detection_s * hangs.gpus) / 3600 as hang_gpu_hours,
    any_value(floors.shortest_hang_s) as shortest_hang_s,
    any_value(recovered.recovered_s) as recovered_s
from hangs
inner join staged.jobs as job using (cluster, job)
inner join floors using (cluster, job)
left join recovered using (cluster, job)
group by hangs.cluster, hangs.job
