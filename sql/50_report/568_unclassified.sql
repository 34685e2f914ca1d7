-- Observations that no rule of the catalogue knows, the material for the next rule: log and kernel
-- lines that look like errors, codes and reasons without a row. Lines that differ only in numbers
-- are one; `value` is the first of them.
--
-- grain: cluster, source, value

with known as (
    select distinct
        cluster,
        source,
        value
    from staged.evidence
),

-- Of a storm, the log's reader keeps a line and counts the rest.
repeated as (
    select row_id, max(repeats) as repeats
    from raw.log_evidence
    where repeats > 0
    group by row_id
),

-- Two collectors at once may both have brought a row.
given as (
    select distinct
        cluster,
        source,
        value,
        node_uid,
        gpu,
        pod_uid,
        job,
        attempt,
        rank,
        origin,
        origin_line,
        row_id,
        coalesce(t, "from") as observed_at
    from gathered.evidence
    where value is not null and coalesce(t, "from") <= getvariable('as_of')
),

unknown as (
    select
        evidence.cluster,
        evidence.source,
        evidence.value,
        regexp_replace(evidence.value, '0x[0-9a-fA-F]+|\d+', '#', 'g') as shape,
        1 + coalesce(repeated.repeats, 0) as line_count,
        evidence.observed_at
    from given as evidence
    left join known
        on evidence.cluster = known.cluster
        and evidence.source = known.source
        and evidence.value = known.value
    left join repeated on evidence.row_id = repeated.row_id
    where known.value is null
)

select
    cluster,
    source,
    min(value) as value,
    cast(sum(line_count) as bigint) as row_count,
    min(observed_at) as first_at,
    max(observed_at) as last_at
from unknown
group by cluster, source, case when source in ('log', 'kernel') then shape else value end
