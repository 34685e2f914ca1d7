-- Jobs whose steps are known and that hold no GPU: their steps are in no number. Collect their pods, or, where
-- held_in names a cluster, collect the steps again with that --cluster.
--
-- grain: row
-- severity: warn

select * from report.jobs_without_gpus
