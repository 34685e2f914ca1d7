-- The steps of each attempt as pieces of one fate: state, cause and payer [2.2-2.7].
--
-- Records are cut where the fate of their positions changes, then neighbours
-- without a gap and of the same fate become one piece; a slow record stays by
-- itself, since its own time tells how slow it was. Position p of a record of
-- n positions over d ends at start + floor((p - first + 1) * d / n) [2.1].
--
-- grain: attempt_id, started_ms, first

with credits as (
    select attempt.attempt_id, credit.*
    from intervals.lineage_attempts as attempt
    inner join intervals.lineage_credit as credit using (lineage_id)
),

thresholds as (
    -- Where discarded spans begin and end, where claims end, where credit ends.
    select attempt_id, filled_order, first - 1 as cut_after from intervals.discarded_spans
    union
    select attempt_id, filled_order, last from intervals.discarded_spans
    union
    select discarded.attempt_id, discarded.filled_order, claim.claimed_step
    from intervals.discarded_spans as discarded
    inner join intervals.cut_claims as claim using (lineage_id, cut_number)
    union
    select record.attempt_id, record.filled_order, unnest([credits.safe_step, credits.claimed_step])
    from intervals.filled_records as record
    inner join credits using (attempt_id)
    where record.last > record.first
),

inner_thresholds as (
    select
        record.attempt_id,
        record.filled_order,
        list_sort(list(threshold.cut_after)) as cuts
    from thresholds as threshold
    inner join (
        select *
        from intervals.filled_records
        where last > first
    ) as record using (attempt_id, filled_order)
    where threshold.cut_after >= record.first and threshold.cut_after < record.last
    group by record.attempt_id, record.filled_order
),

cut_records as (
    select
        * replace (
            started_ms
            + ((first - record_first) * (ended_ms - started_ms)) // position_count as started_ms,
            least(
                started_ms
                + ((last - record_first + 1) * (ended_ms - started_ms)) // position_count,
                visible_end_ms
            ) as visible_end_ms
        )
    from (
        select
            record.* exclude (first, last),
            record.first as record_first,
            record.last - record.first + 1 as position_count,
            unnest(list_concat(
                [record.first],
                list_transform(inner_thresholds.cuts, lambda cut: cut + 1)
            )) as first,
            unnest(list_append(inner_thresholds.cuts, record.last)) as last
        from intervals.filled_records as record
        inner join inner_thresholds using (attempt_id, filled_order)
    )

    union all by name

    select
        record.*,
        record.first as record_first,
        record.last - record.first + 1 as position_count
    from intervals.filled_records as record
    anti join inner_thresholds using (attempt_id, filled_order)
),

sorted_by_fate as (
    select
        record.attempt_id,
        record.started_ms,
        record.visible_end_ms as ended_ms,
        record.first,
        record.last,
        discarded.lineage_id,
        discarded.cut_number,
        case
            when discarded.cut_number is not null
                then record.first > coalesce(claim.claimed_step, -1)
            else record.last > credits.claimed_step
        end as is_above_claim,
        record.last <= credits.safe_step as is_safe,
        slow.filled_order as slow_order,
        slow.baseline_ms,
        slow.class as slow_class,
        case
            when slow.filled_order is not null then record.position_count
        end as slow_position_count
    from cut_records as record
    inner join credits using (attempt_id)
    left join intervals.discarded_spans as discarded
        on
            record.attempt_id = discarded.attempt_id
            and record.filled_order = discarded.filled_order
            and record.first between discarded.first and discarded.last
    left join intervals.cut_claims as claim
        on discarded.lineage_id = claim.lineage_id and discarded.cut_number = claim.cut_number
    left join intervals.slow_records as slow
        on record.attempt_id = slow.attempt_id and record.filled_order = slow.filled_order
    where record.visible_end_ms > record.started_ms
),

marked as (
    select
        *,
        case
            when
                lag(ended_ms) over in_attempt = started_ms
                and cut_number is not distinct from lag(cut_number) over in_attempt
                and lag(is_above_claim) over in_attempt = is_above_claim
                and lag(is_safe) over in_attempt = is_safe
                and slow_order is null
                and lag(slow_order) over in_attempt is null
                then 0
            else 1
        end as is_new
    from sorted_by_fate
    window in_attempt as (partition by attempt_id order by started_ms, first)
),

pieces as (
    select
        attempt_id,
        min(started_ms) as started_ms,
        max(ended_ms) as ended_ms,
        min(first) as first,
        any_value(lineage_id) as lineage_id,
        any_value(cut_number) as cut_number,
        any_value(is_above_claim) as is_above_claim,
        any_value(is_safe) as is_safe,
        any_value(slow_order) as slow_order,
        any_value(baseline_ms) as baseline_ms,
        any_value(slow_class) as slow_class,
        any_value(slow_position_count) as slow_position_count
    from (
        select *, sum(is_new) over (partition by attempt_id order by started_ms, first) as piece
        from marked
    )
    group by attempt_id, piece
),

judged as (
    select
        piece.*,
        credits.own_job,
        credits.own_attempt,
        cut.cause_job,
        cut.cause_attempt,
        case
            when piece.cut_number is not null
                then case
                    when piece.is_above_claim and cut.cause = 'user.rollback'
                        then {'state': 'A.lost.rollback', 'cause': cut.cause, 'payer': 'cut'}
                    when piece.is_above_claim
                        then {'state': 'A.lost.recompute', 'cause': cut.cause, 'payer': 'cut'}
                    when cut.is_rollback
                        then {'state': 'A.lost.rollback', 'cause': 'user.rollback', 'payer': 'cut'}
                    when claim.is_any_invalid
                        then {'state': 'A.lost.recompute', 'cause': 'sto.ckpt', 'payer': null}
                    else {'state': 'A.lost.recompute', 'cause': 'unk.none', 'payer': null}
                end
            when credits.job_state = 'succeeded'
                then {'state': 'A.productive.committed', 'cause': null, 'payer': null}
            when getvariable('credit') = 'success_only' and credits.is_over_badly
                then {'state': 'A.lost.abandoned', 'cause': credits.own_cause, 'payer': 'own'}
            when piece.is_safe
                then {'state': 'A.productive.committed', 'cause': null, 'payer': null}
            when credits.is_open
                then {'state': 'A.productive.provisional', 'cause': null, 'payer': null}
            else {
                'state': case
                    when credits.is_over_badly then 'A.lost.abandoned'
                    when piece.is_above_claim and credits.own_cause = 'user.rollback'
                        then 'A.lost.rollback'
                    else 'A.lost.recompute'
                end,
                'cause': case when piece.is_above_claim then credits.own_cause else 'sto.ckpt' end,
                'payer': case when piece.is_above_claim then 'own' end
            }
        end as verdict
    from pieces as piece
    inner join credits using (attempt_id)
    left join intervals.effective_cuts as cut
        on piece.lineage_id = cut.lineage_id and piece.cut_number = cut.cut_number
    left join intervals.cut_claims as claim
        on piece.lineage_id = claim.lineage_id and piece.cut_number = claim.cut_number
)

select
    attempt_id,
    started_ms,
    ended_ms,
    first,
    slow_order,
    slow_position_count,
    baseline_ms,
    slow_class,
    verdict.state as state,
    verdict.cause as cause,
    case verdict.payer
        when 'cut' then cause_job
        when 'own' then own_job
    end as cause_job,
    case verdict.payer
        when 'cut' then cause_attempt
        when 'own' then own_attempt
    end as cause_attempt
from judged
