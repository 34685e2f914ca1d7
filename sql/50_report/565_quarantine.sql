-- Input rows that were set aside, by file and reason.
--
-- grain: cluster, file, table_name, reason

select
    cluster,
    file,
    table_name,
    reason,
    count(*) as row_count
from raw.quarantine
group by cluster, file, table_name, reason
