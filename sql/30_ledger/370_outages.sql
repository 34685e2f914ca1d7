-- Outages that touch the window, per node or single device, each with one cause [1.6].
--
-- gpu is null where the whole node is out. ended_ms is null while the outage is open.
--
-- grain: row

select
    cluster,
    node_uid,
    case when profile >= 0 then profile end as gpu,
    started_ms,
    case when ended_ms <= getvariable('as_of_ms') then ended_ms end as ended_ms,
    class,
    is_planned as planned,
    repair_action as action,
    node_states
from intervals.outages
where started_ms < getvariable('window_end_ms') and ended_ms > getvariable('window_start_ms')
