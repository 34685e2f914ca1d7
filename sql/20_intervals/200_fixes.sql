-- Instants at which a node was put right: a repair or a blocking condition ended.
--
-- grain: row

select cluster, node_uid, ms_of(ended_at) as fixed_ms
from staged.node_admin
where kind = 'repair' and ended_at is not null

union

select cluster, node_uid, ms_of(ended_at)
from staged.node_conditions
where is_blocking and ended_at is not null
