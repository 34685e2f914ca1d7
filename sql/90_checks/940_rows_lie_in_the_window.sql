-- No row of the ledger is empty, turned round or outside the window.
--
-- grain: row
-- severity: error

select cluster, node_uid, gpu, started_at, ended_at, unit_ms
from ledger.gpu_time
where
    started_at >= ended_at
    or started_at < getvariable('window_start')
    or ended_at > getvariable('window_end')
    or unit_ms <= 0
