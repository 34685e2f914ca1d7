-- Conditions of a node nobody reported: what they say of it counts nowhere.
--
-- grain: row
-- severity: warn

select cluster, node_uid, count(*) as row_count
from (
    select cluster, node_uid from gathered.node_conditions
    union all
    select cluster, node_uid from gathered.node_condition_events
)
anti join staged.nodes using (cluster, node_uid)
group by cluster, node_uid
