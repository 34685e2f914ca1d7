-- Observations that no rule of the catalogue knows, the material for the next rule: log and kernel
-- lines without a signature, codes and reasons without a row.
--
-- grain: cluster, source, value

with known as (
    select distinct
        cluster,
        source,
        value
    from staged.evidence
)

select
    evidence.cluster,
    evidence.source,
    evidence.value,
    count(*) as row_count,
    min(coalesce(evidence.t, evidence."from")) as first_at,
    max(coalesce(evidence.t, evidence."from")) as last_at
from gathered.evidence as evidence
left join known
    on evidence.cluster = known.cluster
    and evidence.source = known.source
    and evidence.value = known.value
where
    evidence.value is not null
    and known.value is null
    and coalesce(evidence.t, evidence."from") <= getvariable('as_of')
group by evidence.cluster, evidence.source, evidence.value
