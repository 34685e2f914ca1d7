-- Step records cut where the fate of their positions changes; a piece has one state and one cause.
--
-- Most records are one piece. position p of a record of n ends at start + floor((p - first + 1) * d / n) [2.1].
--
-- grain: cluster, job, attempt, filled_order, first

with thresholds as (
    -- Where discarded spans begin and end, where claims end, where credit ends.
    select cluster, job, attempt, filled_order, first - 1 as cut_after from intervals.discarded_spans
    union
    select cluster, job, attempt, filled_order, last from intervals.discarded_spans
    union
    select discarded.cluster, discarded.job, discarded.attempt, discarded.filled_order, claim.claimed_step
    from intervals.discarded_spans as discarded
    inner join intervals.cut_claims as claim using (cluster, lineage, cut_number)
    union
    select record.cluster, record.job, record.attempt, record.filled_order, unnest([credit.safe_step, credit.claimed_step])
    from intervals.filled_records as record
    inner join intervals.lineage_credit as credit using (cluster, lineage)
    where record.last > record.first
),

inner_thresholds as (
    select
        record.cluster,
        record.job,
        record.attempt,
        record.filled_order,
        list_sort(list(threshold.cut_after)) as cuts
    from thresholds as threshold
    inner join intervals.filled_records as record using (cluster, job, attempt, filled_order)
    where threshold.cut_after >= record.first and threshold.cut_after < record.last
    group by record.cluster, record.job, record.attempt, record.filled_order
),

cut_records as (
    select
        record.* exclude (first, last),
        record.first as record_first,
        record.last as record_last,
        unnest(list_concat([record.first], list_transform(inner_thresholds.cuts, lambda cut: cut + 1))) as first,
        unnest(list_append(inner_thresholds.cuts, record.last)) as last
    from intervals.filled_records as record
    inner join inner_thresholds using (cluster, job, attempt, filled_order)

    union all by name

    select record.*, record.first as record_first, record.last as record_last
    from intervals.filled_records as record
    anti join inner_thresholds using (cluster, job, attempt, filled_order)
),

judged as (
    select
        piece.*,
        discarded.cut_number,
        credit.own_job,
        credit.own_attempt,
        cut.cause_job,
        cut.cause_attempt,
        case
            when discarded.cut_number is not null then
                case
                    when piece.first > coalesce(claim.claimed_step, -1)
                        then {'state': case when cut.cause = 'user.rollback' then 'A.lost.rollback' else 'A.lost.recompute' end, 'cause': cut.cause, 'payer': 'cut'}
                    when cut.is_rollback then {'state': 'A.lost.rollback', 'cause': 'user.rollback', 'payer': 'cut'}
                    when claim.is_any_invalid then {'state': 'A.lost.recompute', 'cause': 'sto.ckpt', 'payer': null}
                    else {'state': 'A.lost.recompute', 'cause': 'unk.none', 'payer': null}
                end
            when credit.job_state = 'succeeded' then {'state': 'A.productive.committed', 'cause': null, 'payer': null}
            when getvariable('credit') = 'success_only' and credit.is_over_badly
                then {'state': 'A.lost.abandoned', 'cause': credit.own_cause, 'payer': 'own'}
            when piece.last <= credit.safe_step then {'state': 'A.productive.committed', 'cause': null, 'payer': null}
            when credit.is_open then {'state': 'A.productive.provisional', 'cause': null, 'payer': null}
            else {
                'state': case
                    when credit.is_over_badly then 'A.lost.abandoned'
                    when piece.last > credit.claimed_step and credit.own_cause = 'user.rollback' then 'A.lost.rollback'
                    else 'A.lost.recompute'
                end,
                'cause': case when piece.last <= credit.claimed_step then 'sto.ckpt' else credit.own_cause end,
                'payer': case when piece.last > credit.claimed_step then 'own' end
            }
        end as verdict
    from cut_records as piece
    inner join intervals.lineage_credit as credit using (cluster, lineage)
    left join intervals.discarded_spans as discarded
        on piece.cluster = discarded.cluster
        and piece.job = discarded.job
        and piece.attempt = discarded.attempt
        and piece.filled_order = discarded.filled_order
        and piece.first between discarded.first and discarded.last
    left join intervals.effective_cuts as cut
        on discarded.cluster = cut.cluster
        and discarded.lineage = cut.lineage
        and discarded.cut_number = cut.cut_number
    left join intervals.cut_claims as claim
        on discarded.cluster = claim.cluster
        and discarded.lineage = claim.lineage
        and discarded.cut_number = claim.cut_number
)

select
    cluster,
    job,
    attempt,
    lineage,
    filled_order,
    first,
    last,
    record_first,
    record_last,
    is_synthetic,
    world,
    config,
    started_ms as record_started_ms,
    ended_ms as record_ended_ms,
    started_ms + ((first - record_first) * (ended_ms - started_ms)) // (record_last - record_first + 1) as started_ms,
    least(
        started_ms + ((last - record_first + 1) * (ended_ms - started_ms)) // (record_last - record_first + 1),
        coalesce(visible_end_ms, ended_ms)
    ) as ended_ms,
    verdict.state as state,
    verdict.cause as cause,
    case verdict.payer when 'cut' then cause_job when 'own' then own_job end as cause_job,
    case verdict.payer when 'cut' then cause_attempt when 'own' then own_attempt end as cause_attempt
from judged
