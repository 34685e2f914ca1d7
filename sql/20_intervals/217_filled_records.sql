-- Step records with synthetic ones for positions whose log lines were lost [2.8].
--
-- A synthetic record sorts just before the record after the hole. visible_end_ms: a later record hides
-- the part of an earlier one that it overlaps.
--
-- grain: cluster, job, attempt, record_order, is_synthetic

with synthetic as (
    select
        record.* replace (
            record.prev_last + 1 as first,
            record.first - 1 as last,
            record.prev_ended_ms as started_ms,
            record.prev_ended_ms + least(
                record.started_ms - record.prev_ended_ms,
                (record.first - record.prev_last - 1) * greatest(1, pace.position_ms)
            ) as ended_ms,
            cast(null as bigint) as cut_to
        ),
        true as is_synthetic
    from intervals.step_records as record
    inner join intervals.attempt_pace as pace using (cluster, job, attempt)
    where record.first > record.prev_last + 1 and record.started_ms > record.prev_ended_ms
),

filled as (
    select *, false as is_synthetic from intervals.step_records

    union all by name

    select * from synthetic
)

select
    * exclude (position_ms, prev_last, prev_ended_ms),
    row_number() over (partition by cluster, job, attempt order by record_order, not is_synthetic) as filled_order,
    least(
        ended_ms,
        min(started_ms) over (
            partition by cluster, job, attempt
            order by record_order, not is_synthetic
            rows between 1 following and unbounded following
        )
    ) as visible_end_ms
from filled
