-- The observations behind each interruption: source, text, where it was read, how it was judged.
--
-- grain: row
-- nothing without: ledger.evidence

select
    evidence.cluster,
    evidence.job,
    evidence.attempt,
    make_timestamp(evidence.observed_ms * 1000)::timestamptz as observed_at,
    evidence.source,
    evidence.value,
    evidence.class,
    evidence.role,
    evidence.strength,
    nodes.node_name,
    evidence.rank,
    evidence.is_picked,
    evidence.origin,
    evidence.origin_line
from ledger.evidence as evidence
left join report.nodes as nodes
    on evidence.cluster = nodes.cluster and evidence.node_uid = nodes.node_uid
