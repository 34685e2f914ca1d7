-- The class of each interrupted attempt, with confidence,
-- rivals and the rule that decided [4.4, 4.5].
--
-- grain: cluster, job, attempt

with declared (outcome, class) as (
    values
    ('preempted', 'plat.preempt'),
    ('cancelled', 'user.cancel'),
    ('rollback', 'user.rollback'),
    ('resized', 'user.resize'),
    ('timeout', 'user.timeout'),
    ('spot', 'plat.spot')
),

-- An evicted attempt: was a node sick [S0b]?
sick as (
    select evidence.*
    from intervals.attempt_evidence as evidence
    inner join intervals.attempt_onsets as onset using (cluster, job, attempt)
    where
        onset.outcome = 'evicted'
        and evidence.domain = 'infra'
        and evidence.role in ('root', 'either')
        and evidence.strength >= 2
        and evidence.source not in ('exit', 'disruption')
),

drains as (
    select
        onset.cluster,
        onset.job,
        onset.attempt,
        coalesce(
            admin.class,
            case when admin.is_planned then 'plat.maint' else 'plat.repair' end
        ) as class,
        admin.node_uid
    from intervals.attempt_onsets as onset
    inner join (
        select distinct cluster, job, attempt, node_uid
        from staged.pods
    ) as held using (cluster, job, attempt)
    inner join staged.node_admin as admin
        on held.cluster = admin.cluster and held.node_uid = admin.node_uid
    where
        onset.outcome = 'evicted'
        and epoch_ms(admin.started_at) <= onset.ended_ms
        and end_ms(admin.ended_at) >= onset.ended_ms
    qualify row_number() over (
        partition by onset.cluster, onset.job, onset.attempt
        order by admin.kind = 'drain' desc, admin.started_at, admin.node_uid, admin.kind
    ) = 1
),

usable as (
    select evidence.*
    from intervals.attempt_evidence as evidence
    inner join intervals.attempt_onsets as onset using (cluster, job, attempt)
    where onset.outcome not in (select outcome from declared) and onset.outcome <> 'evicted'

    union all by name

    select * from sick
),

-- A collective timeout makes weak evidence after it a consequence [S1].
communication as (
    select
        cluster,
        job,
        attempt,
        min(observed_ms) - 1000 * getvariable('skew_s') as timeout_ms
    from usable
    where class = 'unk.comm'
    group by cluster, job, attempt
),

candidates as (
    select usable.*
    from usable
    left join communication using (cluster, job, attempt)
    where
        usable.role in ('root', 'either')
        and usable.strength >= 1
        and usable.domain not in ('unknown', 'baseline')
        and (
            communication.timeout_ms is null
            or usable.strength > 1
            or usable.observed_ms < communication.timeout_ms
        )
),

-- Only the strongest counts, and fresh before latched [S2].
strongest as (
    select *
    from candidates
    qualify rank() over (partition by cluster, job, attempt order by strength desc, is_old) = 1
),

near as (
    select *, min(observed_ms) over (partition by cluster, job, attempt) as first_ms
    from strongest
),

picked as (
    select *
    from near
    where observed_ms <= first_ms + 1000 * getvariable('skew_s')
    qualify row_number() over (
        partition by cluster, job, attempt
        order by precedence, observed_ms, rank nulls last, coalesce(node_uid, ''), evidence_order
    ) = 1
),

rivals as (
    select
        near.cluster,
        near.job,
        near.attempt,
        list_sort(list(distinct near.class)) as competing
    from near
    inner join picked using (cluster, job, attempt)
    where
        near.class <> picked.class
        and near.node_uid is distinct from picked.node_uid
        and near.observed_ms <= near.first_ms + 1000 * getvariable('compete_s')
    group by near.cluster, near.job, near.attempt
),

voices as (
    select
        candidates.cluster,
        candidates.job,
        candidates.attempt,
        count(distinct candidates.source) as source_count
    from candidates
    inner join picked using (cluster, job, attempt)
    where candidates.class = picked.class
    group by candidates.cluster, candidates.job, candidates.attempt
)

select
    onset.cluster,
    onset.job,
    onset.attempt,
    onset.outcome,
    case
        when declared.class is not null then declared.class
        when picked.class is not null then picked.class
        when onset.outcome = 'evicted' then coalesce(drains.class, 'plat.maint')
        when communication.timeout_ms is not null then 'unk.comm'
        else 'unk.none'
    end as class,
    case
        when declared.class is not null then 95
        when picked.class is not null
            then greatest(5, least(
                99,
                case picked.strength when 3 then 90 when 2 then 70 else 40 end
                + case
                    when
                        onset.first_node_uid is not null
                        and picked.node_uid = onset.first_node_uid
                        then 5
                    else 0
                end
                + case when voices.source_count >= 2 then 5 else 0 end
                - case when rivals.competing is not null then 20 else 0 end
            ))
        when onset.outcome = 'evicted' then case when drains.class is not null then 90 else 60 end
        else 0
    end as confidence,
    coalesce(rivals.competing, []) as competing,
    case
        when declared.class is not null then null
        when picked.class is not null then picked.node_uid
        else drains.node_uid
    end as node_uid,
    case when declared.class is null then picked.evidence_order end as picked_evidence,
    case
        when declared.class is not null then 'declared: the outcome says so'
        when picked.class is not null
            then
                case picked.strength
                    when 3 then 'proof'
                    when 2 then 'strong evidence'
                    else 'suggestive evidence'
                end
                || ' from ' || picked.source || case when picked.is_old then ', latched' else '' end
        when onset.outcome = 'evicted' and drains.class is not null
            then 'eviction during an admin action on its node'
        when onset.outcome = 'evicted' then 'eviction without a known admin action'
        when communication.timeout_ms is not null then 'only a communication symptom'
        else 'no evidence'
    end as rule
from intervals.attempt_onsets as onset
left join declared using (outcome)
left join picked using (cluster, job, attempt)
left join rivals using (cluster, job, attempt)
left join voices using (cluster, job, attempt)
left join communication using (cluster, job, attempt)
left join drains using (cluster, job, attempt)
