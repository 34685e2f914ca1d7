-- Imported checkpoints of jobs without a row of jobs, or of attempts without one of attempts: they save no work.
-- Import these rows.
--
-- grain: row
-- severity: warn

select
    checkpoint.cluster,
    checkpoint.job,
    checkpoint.attempt,
    checkpoint.step,
    checkpoint.write_start,
    checkpoint.path,
    checkpoint.ingested_from
from raw.checkpoints as checkpoint
left join staged.jobs as job using (cluster, job)
left join staged.attempts as attempt using (cluster, job, attempt)
where job.job is null or (checkpoint.attempt is not null and attempt.attempt is null)
