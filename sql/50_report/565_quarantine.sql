-- Input rows that were set aside, by the reason.
--
-- grain: cluster, table_name, reason

select
    cluster,
    table_name,
    reason,
    count(*) as row_count,
    count(distinct file) as file_count,
    min(file) as example_file
from raw.quarantine
group by cluster, table_name, reason
