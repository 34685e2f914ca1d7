-- What each of the nodes that cost most did, as a lane of report.lanes.
--
-- grain: cluster, node_uid

select
    nodes.cluster,
    nodes.node_uid,
    nodes.node_name,
    nodes.pool,
    lanes.bucket_ms,
    lanes.cells
from report.lanes as lanes
inner join report.nodes as nodes on lanes.cluster = nodes.cluster and lanes.lane = nodes.node_uid
where lanes.lane_kind = 'node'
