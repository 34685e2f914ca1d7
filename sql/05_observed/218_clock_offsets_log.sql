-- Attempts whose logs were written by a clock that differs from the API server's [0.6].
--
-- A container writes between its start and its end. So its clock is ahead by no more than its first line
-- is after the start, and by no less than its last line is after the end. Only what that proves counts,
-- beyond the bound: long silence after the start, or before the end, is no fault of a clock. Taken are
-- pods that did not share their name and whose containers ran once: their lines have no other home.
--
-- grain: cluster, job, attempt

with lives as (
    select
        cluster,
        pod_uid,
        min(started_at) as started_at,
        case when count(finished_at) = count(*) then max(finished_at) end as finished_at
    from observed.container_runs
    group by cluster, pod_uid
    having max(run) = 0
),

single_names as (
    select cluster, name as pod
    from observed.known_pods
    group by cluster, name
    having count(distinct uid) = 1
),

lines as (
    select
        pod.cluster,
        pod.job,
        pod.attempt,
        pod.pod_uid,
        min(segment.started_at) as first_at,
        max(coalesce(segment.ended_at, segment.started_at)) as last_at,
        min(segment.ingested_at) as ingested_at,
        min(segment.ingested_from) as ingested_from
    from observed.log_pods as pod
    inner join observed.log_files_latest as file using (cluster, log_id)
    inner join observed.log_segments_latest as segment using (cluster, log_id, segment)
    left join single_names using (cluster, pod)
    where file.pod_uid is not null or single_names.pod is not null
    group by pod.cluster, pod.job, pod.attempt, pod.pod_uid
),

proven as (
    select
        lines.cluster,
        lines.job,
        lines.attempt,
        lines.ingested_at,
        lines.ingested_from,
        coalesce(least(ms_of(lines.first_at) - ms_of(lives.started_at), 0), 0)
        + coalesce(greatest(ms_of(lines.last_at) - ms_of(lives.finished_at), 0), 0)
            as offset_ms
    from lines
    inner join lives using (cluster, pod_uid)
)

select
    cluster,
    job,
    attempt,
    median(offset_ms) / 1000 as offset_s,
    min(ingested_at) as ingested_at,
    min(ingested_from) as ingested_from
from proven
group by cluster, job, attempt
having
    abs(median(offset_ms)) > greatest(1000 * getvariable('skew_s'), 3 * mad(offset_ms))
    -- What is a day off was written by somebody else.
    and abs(median(offset_ms)) < 86400000
