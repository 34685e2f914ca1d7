-- Spans in which a source was not observed.
--
-- grain: row

select distinct cluster, source_name, "from" as started_at, "to" as ended_at, reason
from gathered.collector_gaps
