-- The clean records of uneven attempts, in which the search for change points looks [3.2].
--
-- Clean is what is not among the first few after a (re)start, not synthetic, and touched by no
-- phase. Records of one zone of conditions, world size and configuration are compared. pace is the
-- logarithm of the time per position in millionths, a whole number; place counts from 0.
--
-- grain: record_key

with clean as (
    select
        record.attempt_id,
        record.setting_id,
        record.record_key,
        record.started_ms,
        cast(
            round(1e6 * ln((record.ended_ms - record.started_ms) / (record.last - record.first + 1)))
            as bigint
        ) as pace
    from intervals.visible_records as record
    semi join intervals.uneven_attempts using (attempt_id)
    anti join intervals.touched_records using (record_key)
    where
        record.place > getvariable('blind_warmup_rows')
        and not record.is_synthetic
),

placed as (
    select
        clean.*,
        coalesce(turns.turn, 0) as zone
    from clean
    asof left join intervals.condition_turns as turns
        on clean.attempt_id = turns.attempt_id and clean.started_ms >= turns.turned_ms
    asof left join intervals.step_turns as restart
        on clean.attempt_id = restart.attempt_id and clean.record_key >= restart.cut_key
    where
        coalesce(
            clean.record_key >= restart.cut_key + 2 * getvariable('blind_warmup_rows'), true
        )
)

select
    *,
    row_number() over (partition by attempt_id, zone, setting_id order by record_key) - 1 as place
from placed
