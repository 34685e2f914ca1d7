-- Positions of runs that were discarded, with the cut that discarded them [2.2].
--
-- A position dies at the first later cut below it. Of the cuts that reach a run, each one goes
-- deeper than the one before, so each takes the span between the two.
--
-- grain: first_key, first
-- nothing without: intervals.effective_cuts

with reaching as (
    -- The cuts that can reach each attempt, and how deep they go.
    select
        attempt.attempt_id,
        attempt.attempt_order,
        attempt.lineage_id,
        cut.cut_number,
        cut.cut_to,
        cut.attempt_order as cut_attempt_order,
        cut.cut_key,
        cut.reach_attempt_order,
        cut.reach_cut_key
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
        run.attempt_id,
        run.first_key,
        run.first,
        run.last
    from intervals.step_runs as run
    inner join at_risk using (attempt_id)
    where run.last > at_risk.deepest
),

reached as (
    select
        run.attempt_id,
        run.first_key,
        run.first,
        run.last,
        cut.lineage_id,
        cut.cut_number,
        cut.cut_to,
        lag(cut.cut_to) over (
            partition by run.attempt_id, run.first_key order by cut.cut_number
        ) as shallower
    from exposed as run
    inner join reaching as cut using (attempt_id)
    where
        run.last > cut.cut_to
        -- The cut comes after the run, and no cut in between went as deep.
        and (
            cut.cut_attempt_order > cut.attempt_order
            or cut.cut_key > run.first_key
        )
        and (
            cut.reach_attempt_order < cut.attempt_order
            or cut.reach_cut_key <= run.first_key
        )
)

select
    attempt_id,
    first_key,
    lineage_id,
    cut_number,
    greatest(cut_to + 1, first) as first,
    least(coalesce(shallower, last), last) as last
from reached
where greatest(cut_to + 1, first) <= least(coalesce(shallower, last), last)
