-- Each attempt inside a log file as it was read last.
--
-- grain: cluster, log_id, segment

select *
from raw.log_segments
qualify row_number() over (
    partition by cluster, log_id, segment
    order by ingested_at desc nulls last, run_id desc, last_line desc, row_id
) = 1
