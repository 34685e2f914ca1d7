-- The steps of each attempt as pieces of one fate: state, cause and payer [2.2-2.7].
--
-- Neighbours without a gap and of the same fate become one piece; a slow record stays by itself,
-- since its own time tells how slow it was.
--
-- grain: attempt_id, started_ms, first

with credits as (
    select attempt.attempt_id, credit.*
    from intervals.lineage_attempts as attempt
    inner join intervals.lineage_credit as credit using (lineage_id)
),

sorted_by_fate as (
    select
        part.attempt_id,
        part.started_ms,
        part.ended_ms,
        part.first,
        discarded.lineage_id,
        discarded.cut_number,
        case
            when discarded.cut_number is not null
                then part.first > coalesce(claim.claimed_step, -1)
            else part.last > credits.claimed_step
        end as is_above_claim,
        part.last <= credits.safe_step as is_safe,
        slow.record_key as slow_order,
        slow.baseline_ms,
        slow.class as slow_class,
        case when slow.record_key is not null then part.run_position_count end
            as slow_position_count
    from intervals.step_parts as part
    inner join credits using (attempt_id)
    left join intervals.discarded_spans as discarded
        on part.first_key = discarded.first_key
        and part.first between discarded.first and discarded.last
    left join intervals.cut_claims as claim
        on discarded.lineage_id = claim.lineage_id and discarded.cut_number = claim.cut_number
    left join intervals.slow_records as slow
        on part.is_slow and part.first_key = slow.record_key
    where part.ended_ms > part.started_ms
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
