-- Facts about the course of training: a rollback by choice, an in-process restart.
--
-- grain: row

select distinct cluster, job, attempt, t as occurred_at, kind, known_class(cause) as cause
from gathered.markers
