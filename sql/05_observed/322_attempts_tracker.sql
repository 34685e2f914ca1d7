-- Attempts that a foreign recorder saw.
--
-- grain: cluster, job, attempt

select
    ends.cluster,
    ends.job,
    cast(ends.attempt as integer) as attempt,
    ends.started_at as start,
    ends.ended_at as "end",
    ends.outcome,
    case when ends.recorder = 'resiliency' then ends.loaded_step end as resume_step,
    sources.ingested_at,
    sources.ingested_from,
    sources.run_id,
    md5(concat_ws('|', sources.row_id, 'attempt', ends.attempt)) as row_id
from observed.tracker_attempt_ends as ends
inner join observed.tracker_owners as owners using (cluster, recorder, job, attempt)
inner join observed.tracker_sources as sources using (cluster, recorder, job)
where owners.is_alone
