-- The class of each interrupted attempt, with confidence,
-- rivals and the rule that decided [4.4, 4.5].
--
-- grain: cluster, job, attempt
-- nothing without: intervals.attempt_onsets

with drains as (
    select
        onset.cluster,
        onset.job,
        onset.attempt,
        coalesce(
            admin.class,
            case when admin.is_planned then 'plat.maint' else 'plat.repair' end
        ) as class,
        admin.node_uid,
        root_of(
            admin.node_uid, null, 'admin', admin.kind, ms_of(admin.started_at)
        ) as root
    from intervals.attempt_onsets as onset
    inner join (
        select distinct cluster, job, attempt, node_uid
        from staged.pods
    ) as held using (cluster, job, attempt)
    inner join staged.node_admin as admin
        on held.cluster = admin.cluster and held.node_uid = admin.node_uid
    where
        onset.outcome = 'evicted'
        and ms_of(admin.started_at) <= onset.ended_ms
        and end_ms(admin.ended_at) >= onset.ended_ms
    qualify row_number() over (
        partition by onset.cluster, onset.job, onset.attempt
        order by admin.kind = 'drain' desc, admin.started_at, admin.node_uid, admin.kind
    ) = 1
),

communication as (
    select distinct cluster, job, attempt
    from intervals.attempt_evidence
    where class = 'unk.comm'
),

-- While nobody looked, evidence may have been missed.
gaps as (
    select
        cluster,
        ms_of(started_at) as started_ms,
        max(end_ms(ended_at)) over (partition by cluster order by started_at) as reach_ms
    from staged.collector_gaps
),

unobserved as (
    select onset.cluster, onset.job, onset.attempt
    from intervals.attempt_onsets as onset
    asof inner join gaps
        on
            onset.cluster = gaps.cluster
            and least(onset.to_ms, onset.next_started_ms) > gaps.started_ms
    where gaps.reach_ms > greatest(onset.from_ms, onset.prev_ended_ms)
),

-- What the confidence is made of, in percent: each term with its reason [4.5].
terms as (
    select
        onset.cluster,
        onset.job,
        onset.attempt,
        list_filter(
            [
                case picked.strength
                    when 3 then {'points': 90, 'reason': 'proof'}
                    when 2 then {'points': 70, 'reason': 'strong evidence'}
                    else {'points': 40, 'reason': 'suggestive evidence'}
                end,
                case
                    when picked.node_uid = onset.first_node_uid
                        then {'points': 5, 'reason': 'on the node of the first death'}
                end,
                case
                    when picked.source_count >= 2
                        then {'points': 5, 'reason': 'two kinds of source agree'}
                end,
                case
                    when picked.competing is not null
                        then {'points': -20, 'reason': 'a rival on another node'}
                end,
                case
                    when suspect.overrun_ms is not null
                        then {'points': -10, 'reason': 'clock suspect: steps after the pods ended'}
                end,
                case
                    when unobserved.job is not null
                        then {'points': -10, 'reason': 'a collector gap in the window'}
                end
            ],
            lambda term: term is not null
        ) as confidence_terms
    from intervals.picked_evidence as picked
    inner join intervals.attempt_onsets as onset using (cluster, job, attempt)
    left join intervals.clock_suspects as suspect using (cluster, job, attempt)
    left join unobserved using (cluster, job, attempt)
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
        when communication.job is not null then 'unk.comm'
        else 'unk.none'
    end as class,
    case
        when declared.class is not null then 95
        when picked.class is not null
            then
                cast(
                    greatest(5, least(99, list_sum(
                        list_transform(terms.confidence_terms, lambda term: term.points)
                    ))) as integer
                )
        when onset.outcome = 'evicted' then case when drains.class is not null then 90 else 60 end
        else 0
    end as confidence,
    coalesce(terms.confidence_terms, []) as confidence_terms,
    coalesce(picked.competing, []) as competing,
    case
        when declared.class is not null then null
        when picked.class is not null then picked.node_uid
        else drains.node_uid
    end as node_uid,
    case when declared.class is null then picked.evidence_order end as picked_evidence,
    case
        when declared.class is not null then null
        when picked.class is not null then picked.root
        else drains.root
    end as root,
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
        when communication.job is not null then 'only a communication symptom'
        else 'no evidence'
    end as rule
from intervals.attempt_onsets as onset
left join catalog.declared_outcomes as declared using (outcome)
left join intervals.picked_evidence as picked using (cluster, job, attempt)
left join terms using (cluster, job, attempt)
left join communication using (cluster, job, attempt)
left join drains using (cluster, job, attempt)
