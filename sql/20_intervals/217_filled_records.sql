-- Step records with synthetic ones for positions whose log lines were lost [2.8].
--
-- A synthetic record sorts just before the record after the hole.
-- visible_end_ms: a later record hides the part of an earlier one that
-- it overlaps. Attempts without holes and overlaps pass as they are.
--
-- grain: attempt_id, filled_order

with ragged as (
    select record.*, pace.position_ms as pace_ms
    from intervals.step_records as record
    inner join intervals.attempt_pace as pace using (attempt_id)
    where pace.is_ragged
),

filled as (
    select
        attempt_id,
        record_order,
        first,
        last,
        started_ms,
        ended_ms,
        world,
        config,
        false as is_synthetic
    from ragged

    union all

    select
        attempt_id,
        record_order,
        prev_last + 1,
        first - 1,
        prev_ended_ms,
        prev_ended_ms + least(
            started_ms - prev_ended_ms,
            (first - prev_last - 1) * greatest(1, pace_ms)
        ),
        world,
        config,
        true
    from ragged
    where first > prev_last + 1 and started_ms > prev_ended_ms
)

select
    record.attempt_id,
    record.record_order,
    record.record_order as filled_order,
    record.first,
    record.last,
    record.started_ms,
    record.ended_ms,
    record.ended_ms as visible_end_ms,
    record.world,
    record.config,
    false as is_synthetic
from intervals.step_records as record
inner join intervals.attempt_pace as pace using (attempt_id)
where not pace.is_ragged

union all by name

select
    *,
    row_number() over (
        partition by attempt_id
        order by record_order, not is_synthetic
    ) as filled_order,
    least(
        ended_ms,
        min(started_ms) over (
            partition by attempt_id
            order by record_order, not is_synthetic
            rows between 1 following and unbounded following
        )
    ) as visible_end_ms
from filled
