-- Each log file as it was read last.
--
-- grain: cluster, log_id

select *
from raw.log_files
qualify row_number() over (
    partition by cluster, log_id
    order by ingested_at desc nulls last, run_id desc, bytes desc, row_id
) = 1
