-- Positions of step records that were discarded, with the cut that discarded them [2.2].
--
-- A record's position dies at the first later cut below it. Of the cuts that reach a record, each
-- one goes deeper than the one before, so each takes the span between the two.
--
-- grain: attempt_id, filled_order, first

with reaching as (
    -- The cuts that can reach each attempt, and how deep they go.
    select
        attempt.attempt_id,
        attempt.attempt_order,
        attempt.lineage_id,
        cut.cut_number,
        cut.cut_to,
        cut.attempt_order as cut_attempt_order,
        cut.record_order as cut_record_order,
        cut.reach_attempt_order,
        cut.reach_record_order
    from intervals.lineage_attempts as attempt
    inner join intervals.effective_cuts as cut
        on
            attempt.lineage_id = cut.lineage_id
            and cut.attempt_order >= attempt.attempt_order
            and cut.reach_attempt_order <= attempt.attempt_order
),

at_risk as (
    select attempt_id, min(cut_to) as deepest
    from reaching
    group by attempt_id
),

exposed as (
    select
        record.attempt_id,
        record.filled_order,
        record.first,
        record.last,
        -- A synthetic record stands before the record that follows its hole.
        record.record_order - case when record.is_synthetic then 1 else 0 end as record_order
    from intervals.filled_records as record
    inner join at_risk using (attempt_id)
    where record.last > at_risk.deepest
),

reached as (
    select
        record.attempt_id,
        record.filled_order,
        record.first,
        record.last,
        cut.lineage_id,
        cut.cut_number,
        cut.cut_to,
        lag(cut.cut_to) over (
            partition by record.attempt_id, record.filled_order order by cut.cut_number
        ) as shallower
    from exposed as record
    inner join reaching as cut using (attempt_id)
    where
        record.last > cut.cut_to
        -- The cut comes after the record, and no cut in between went as deep.
        and (
            cut.cut_attempt_order > cut.attempt_order
            or cut.cut_record_order > record.record_order
        )
        and (
            cut.reach_attempt_order < cut.attempt_order
            or cut.reach_record_order <= record.record_order
        )
)

select
    attempt_id,
    filled_order,
    lineage_id,
    cut_number,
    greatest(cut_to + 1, first) as first,
    least(coalesce(shallower, last), last) as last
from reached
where greatest(cut_to + 1, first) <= least(coalesce(shallower, last), last)
