-- Runs cut where the fate of their positions changes: at the edges of what was discarded, where
-- claims end and where credit ends [2.2-2.7].
--
-- Position p of a record of n positions over d ends at start + floor((p - first + 1) * d / n)
-- [2.1]; in a run of several records the one that holds p is looked up.
--
-- grain: first_key, first

with thresholds as (
    select first_key, first - 1 as cut_after from intervals.discarded_spans
    union
    select first_key, last from intervals.discarded_spans
    union
    select discarded.first_key, claim.claimed_step
    from intervals.discarded_spans as discarded
    inner join intervals.cut_claims as claim using (lineage_id, cut_number)
    union
    select run.first_key, unnest([credit.safe_step, credit.claimed_step])
    from intervals.step_runs as run
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    inner join intervals.lineage_credit as credit using (lineage_id)
    where run.last > run.first
),

inner_thresholds as (
    select run.*, threshold.cut_after
    from thresholds as threshold
    inner join intervals.step_runs as run using (first_key)
    where threshold.cut_after >= run.first and threshold.cut_after < run.last
),

-- Most records of long runs are of one position, or end at the threshold: an equality finds them.
at_ends as (
    select threshold.first_key, threshold.cut_after, record.ended_ms as cut_ms
    from inner_thresholds as threshold
    inner join intervals.step_records as record
        on threshold.attempt_id = record.attempt_id and threshold.cut_after = record.last
    where
        threshold.last_key > threshold.first_key
        and 2 * (record.rowid + 1) between threshold.first_key and threshold.last_key
),

inside as (
    select *
    from inner_thresholds as threshold
    anti join at_ends using (first_key, cut_after)
    where threshold.last_key > threshold.first_key
),

holders as (
    select
        record.*,
        coalesce(turn.cut_key, 0) as stretch_key
    from (
        select
            2 * (rowid + 1) as record_key,
            attempt_id,
            last - more_count as first,
            last,
            ended_ms - duration_ms as started_ms,
            ended_ms
        from intervals.step_records
        where more_count > 0
    ) as record
    asof left join (
        select * from intervals.step_turns
        where not is_first
    ) as turn
        on record.attempt_id = turn.attempt_id and record.record_key >= turn.cut_key
    semi join inside on record.attempt_id = inside.attempt_id
),

cuts as (
    select first_key, cut_after, cut_ms from at_ends

    union all

    select
        threshold.first_key,
        threshold.cut_after,
        record.started_ms
        + (threshold.cut_after - record.first + 1) * (record.ended_ms - record.started_ms)
        // (record.last - record.first + 1) as cut_ms
    from inside as threshold
    asof join holders as record
        on
            threshold.attempt_id = record.attempt_id
            and threshold.stretch_key = record.stretch_key
            and threshold.cut_after >= record.first

    union all

    select
        first_key,
        cut_after,
        started_ms + (cut_after - first + 1) * (ended_ms - started_ms) // (last - first + 1)
    from inner_thresholds
    where last_key = first_key
)

select
    run.attempt_id,
    run.first_key,
    run.stretch_key,
    coalesce(part.cut_after + 1, run.first) as first,
    coalesce(
        lead(part.cut_after) over in_run, run.last
    ) as last,
    coalesce(part.cut_ms, run.started_ms) as started_ms,
    least(coalesce(lead(part.cut_ms) over in_run, run.ended_ms), run.visible_end_ms) as ended_ms,
    run.is_slow,
    run.is_synthetic,
    run.last - run.first + 1 as run_position_count
from intervals.step_runs as run
left join (
    select first_key, cut_after, cut_ms from cuts
    union all
    select distinct first_key, null, null from cuts
) as part using (first_key)
window in_run as (partition by run.first_key order by part.cut_after nulls first)
