-- The evidence that decides why an interrupted attempt ended, with its rivals [4.4].
--
-- Nothing decides where the outcome was declared, or where no root is left. source_count is how many
-- kinds of source name the class.
--
-- grain: cluster, job, attempt

-- Numbered, since the long key would go through many joins. Of an evicted attempt only the sickness
-- of a node counts [S0b].
with usable as (
    select
        onset.rowid as onset_id,
        evidence.rowid as evidence_id,
        evidence.observed_ms,
        evidence.class,
        evidence.domain,
        evidence.precedence,
        evidence.role,
        evidence.strength,
        evidence.source,
        evidence.node_uid,
        evidence.rank,
        evidence.is_old,
        evidence.is_xid,
        evidence.evidence_order
    from intervals.attempt_evidence as evidence
    inner join intervals.attempt_onsets as onset using (cluster, job, attempt)
    anti join catalog.declared_outcomes as declared using (outcome)
    where
        onset.outcome <> 'evicted'
        or (
            evidence.domain = 'infra'
            and evidence.role in ('root', 'either')
            and evidence.strength >= 2
            and evidence.source not in ('exit', 'disruption')
        )
),

-- A collective timeout makes weak evidence after it a consequence [S1].
communication as (
    select onset_id, min(observed_ms) - 1000 * getvariable('skew_s') as timeout_ms
    from usable
    where class = 'unk.comm'
    group by onset_id
),

-- A node that is lost with a GPU error is lost because of it [4.6].
gpu_faults as (
    select distinct onset_id, node_uid
    from usable
    where is_xid and class like 'gpu.%' and role in ('root', 'either') and strength >= 2
),

candidates as (
    select usable.*
    from usable
    left join communication using (onset_id)
    left join gpu_faults
        on
            usable.class = 'host.lost'
            and usable.onset_id = gpu_faults.onset_id
            and usable.node_uid = gpu_faults.node_uid
    where
        usable.role in ('root', 'either')
        and usable.strength >= 1
        and usable.domain not in ('unknown', 'baseline')
        and gpu_faults.node_uid is null
        and (
            communication.timeout_ms is null
            or usable.strength > 1
            or usable.observed_ms < communication.timeout_ms
        )
),

-- Only the strongest counts, and fresh before latched [S2].
heaviest as (
    select onset_id, max(2 * strength + cast(not is_old as integer)) as weight
    from candidates
    group by onset_id
),

strongest as (
    select candidates.*
    from candidates
    inner join heaviest using (onset_id)
    where 2 * candidates.strength + cast(not candidates.is_old as integer) = heaviest.weight
),

near as (
    select *, min(observed_ms) over (partition by onset_id) as first_ms
    from strongest
),

picked as (
    select *
    from near
    where observed_ms <= first_ms + 1000 * getvariable('skew_s')
    qualify row_number() over (
        partition by onset_id
        order by precedence, observed_ms, rank nulls last, coalesce(node_uid, ''), evidence_order
    ) = 1
),

rivals as (
    select near.onset_id, list_sort(list(distinct near.class)) as competing
    from near
    inner join picked using (onset_id)
    where
        near.class <> picked.class
        and near.node_uid is distinct from picked.node_uid
        and near.observed_ms <= near.first_ms + 1000 * getvariable('compete_s')
    group by near.onset_id
),

voices as (
    select candidates.onset_id, count(distinct candidates.source) as source_count
    from candidates
    inner join picked using (onset_id)
    where candidates.class = picked.class
    group by candidates.onset_id
)

select
    evidence.*,
    picked.first_ms,
    rivals.competing,
    voices.source_count
from picked
inner join intervals.attempt_evidence as evidence on picked.evidence_id = evidence.rowid
left join rivals using (onset_id)
left join voices using (onset_id)
