-- Positions of step records that were discarded, with the cut that discarded them [2.2].
--
-- A record's position dies at the first later cut below it. Of the cuts that reach a record, each one
-- goes deeper than the one before, so each takes the span between the two.
--
-- grain: cluster, job, attempt, filled_order, first

with at_risk as (
    select
        attempt.cluster,
        attempt.job,
        attempt.attempt,
        min(cut.cut_to) as deepest
    from intervals.lineage_attempts as attempt
    inner join intervals.effective_cuts as cut
        on attempt.cluster = cut.cluster
        and attempt.lineage = cut.lineage
        and cut.attempt_order >= attempt.attempt_order
        and cut.reach_attempt_order <= attempt.attempt_order
    group by attempt.cluster, attempt.job, attempt.attempt
),

reached as (
    select
        record.cluster,
        record.job,
        record.attempt,
        record.filled_order,
        record.last,
        record.first,
        cut.cut_to,
        cut.cut_number,
        cut.lineage,
        lag(cut.cut_to) over (
            partition by record.cluster, record.job, record.attempt, record.filled_order
            order by cut.cut_number
        ) as shallower
    from intervals.filled_records as record
    inner join at_risk using (cluster, job, attempt)
    inner join intervals.effective_cuts as cut
        on record.cluster = cut.cluster
        and record.lineage = cut.lineage
    where record.last > at_risk.deepest
        and record.last > cut.cut_to
        -- The cut comes after the record ...
        and (cut.attempt_order, cut.record_order) > (record.attempt_order, record.record_order - case when record.is_synthetic then 1 else 0 end)
        -- ... and no cut in between went as deep.
        and (cut.reach_attempt_order, cut.reach_record_order)
            <= (record.attempt_order, record.record_order - case when record.is_synthetic then 1 else 0 end)
)

select
    cluster,
    job,
    attempt,
    lineage,
    filled_order,
    greatest(cut_to + 1, first) as first,
    least(coalesce(shallower, last), last) as last,
    cut_number
from reached
where greatest(cut_to + 1, first) <= least(coalesce(shallower, last), last)
