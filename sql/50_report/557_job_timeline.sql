-- What the GPUs of each of the jobs that lost most did, as a lane of report.lanes.
--
-- grain: cluster, job

select
    jobs.cluster,
    jobs.job,
    jobs.job_name,
    lanes.bucket_ms,
    lanes.cells
from report.lanes as lanes
inner join report.jobs as jobs on lanes.cluster = jobs.cluster and lanes.lane = jobs.job
where lanes.lane_kind = 'job'
