-- Each log file as it was read last; a reading that a later one contradicts is left out.
--
-- grain: cluster, log_id

select log.*
from raw.log_files as log
anti join raw.log_reads as later
    on
        log.cluster = later.cluster
        and log.log_id = later.replaces
qualify row_number() over (
    partition by log.cluster, log.log_id
    order by log.ingested_at desc nulls last, log.run_id desc, log.bytes desc, log.row_id
) = 1
