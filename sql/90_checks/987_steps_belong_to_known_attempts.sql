-- Imported steps and phases of attempts without a row of attempts, or of jobs: they are in no number. Import
-- these rows.
--
-- grain: row
-- severity: warn

select * from report.unattributed_rows
