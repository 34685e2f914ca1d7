-- Logs whose zone is no IANA name: their lines have no time, and are left out.
--
-- grain: row
-- severity: warn

select distinct cluster, job, attempt, tz
from gathered.step_logs
where lower(tz) not in (select lower(name) from pg_timezone_names())
