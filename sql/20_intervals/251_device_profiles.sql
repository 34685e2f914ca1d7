-- Devices with a condition or an XID of their own are
-- followed one by one; the others share profile -1.
--
-- grain: cluster, node_uid, gpu

select
    node.cluster,
    node.node_uid,
    node.gpu,
    case when single.gpu is not null then node.gpu else -1 end as profile
from (select cluster, node_uid, unnest(range(gpus)) as gpu from staged.nodes) as node
left join (
    select cluster, node_uid, gpu
    from staged.node_conditions
    where gpu is not null
    union
    select cluster, node_uid, gpu
    from staged.evidence
    where source = 'xid' and gpu is not null and node_uid is not null
) as single
    on node.cluster = single.cluster and node.node_uid = single.node_uid and node.gpu = single.gpu
