-- Instants at which the pace of an attempt changed for a longer time, with nothing on its nodes
-- that tells why [3.2].
--
-- A candidate is moved to where most records stand on the side of the level that is theirs. A level
-- is the middle between the quartiles. A change counts if it is at least half of what makes a
-- segment slow, and leaves long enough segments on both sides: where one is too short, the way from
-- the level before it to the level after it is one change, at the larger jump, or none.
--
-- grain: attempt_id, setting_id, turned_ms

with segments as (
    select attempt_id, zone, setting_id, cut from intervals.change_candidates
    union
    select attempt_id, zone, setting_id, 0 from intervals.change_candidates
),

levels as (
    select
        record.attempt_id,
        record.zone,
        record.setting_id,
        segment.cut,
        quantile_disc(record.pace, 0.25) + quantile_disc(record.pace, 0.75) as level
    from intervals.blind_records as record
    asof join segments as segment
        on
            record.attempt_id = segment.attempt_id
            and record.zone = segment.zone
            and record.setting_id = segment.setting_id
            and record.place >= segment.cut
    group by record.attempt_id, record.zone, record.setting_id, segment.cut
),

around as (
    select
        *,
        lag(level) over in_order as level_before,
        greatest(cut - 15, lag(cut) over in_order + 1) as from_place,
        least(cut + 15, coalesce(lead(cut) over in_order, cut + 15)) as to_place
    from levels
    window in_order as (partition by attempt_id, zone, setting_id order by cut)
),

votes as (
    select
        record.attempt_id,
        record.zone,
        record.setting_id,
        around.cut,
        record.place,
        sum(
            case
                when
                    (4 * record.pace < around.level + around.level_before)
                    = (around.level_before < around.level)
                    then 1
                else -1
            end
        ) over (
            partition by around.attempt_id, around.zone, around.setting_id, around.cut
            order by record.place
        ) as vote
    from around
    inner join intervals.blind_records as record
        on
            around.attempt_id = record.attempt_id
            and around.zone = record.zone
            and around.setting_id = record.setting_id
            and record.place >= around.from_place
            and record.place < around.to_place
    where around.cut > 0
),

located as (
    select distinct
        attempt_id,
        zone,
        setting_id,
        first_value(place) over (
            partition by attempt_id, zone, setting_id, cut order by vote desc, place
        ) + 1 as cut
    from votes

    union

    select distinct attempt_id, zone, setting_id, 0 from votes
),

measured as (
    select
        record.attempt_id,
        record.zone,
        record.setting_id,
        segment.cut,
        count(*) as record_count,
        quantile_disc(record.pace, 0.25) + quantile_disc(record.pace, 0.75) as level
    from intervals.blind_records as record
    asof join located as segment
        on
            record.attempt_id = segment.attempt_id
            and record.zone = segment.zone
            and record.setting_id = segment.setting_id
            and record.place >= segment.cut
    group by record.attempt_id, record.zone, record.setting_id, segment.cut
),

compared as (
    select
        *,
        lag(record_count) over in_order as count_before,
        level - lag(level) over in_order as jump,
        lag(level) over in_order - lag(level, 2) over in_order as jump_before,
        lead(level) over in_order - level as jump_after,
        -- Levels are twice the middle, in millionths.
        1e6 * ln(1 + getvariable('slow_pct') / 200.0) * 2 as least_jump
    from measured
    window in_order as (partition by attempt_id, zone, setting_id order by cut)
),

kept as (
    select attempt_id, zone, setting_id, cut
    from compared
    where
        abs(jump) >= least_jump
        and (
            record_count >= getvariable('blind_min_rows')
            or (abs(jump + jump_after) >= least_jump and abs(jump) >= abs(jump_after))
        )
        and (
            count_before >= getvariable('blind_min_rows')
            or (abs(jump + jump_before) >= least_jump and abs(jump) > abs(jump_before))
        )

    union all

    select attempt_id, zone, setting_id, 0
    from compared
    where cut = 0
),

final as (
    select
        record.attempt_id,
        record.zone,
        record.setting_id,
        segment.cut,
        min(record.started_ms) as started_ms,
        count(*) as record_count,
        quantile_disc(record.pace, 0.25) as low,
        quantile_disc(record.pace, 0.5) as middle,
        quantile_disc(record.pace, 0.75) as high
    from intervals.blind_records as record
    asof join kept as segment
        on
            record.attempt_id = segment.attempt_id
            and record.zone = segment.zone
            and record.setting_id = segment.setting_id
            and record.place >= segment.cut
    group by record.attempt_id, record.zone, record.setting_id, segment.cut
)

select
    attempt_id,
    setting_id,
    started_ms as turned_ms,
    cast(round(1000 * exp(middle_before / 1e6)) as bigint) as position_us_before,
    cast(round(1000 * exp(middle / 1e6)) as bigint) as position_us_after,
    count_before as clean_count_before,
    record_count as clean_count_after
from (
    select
        *,
        lag(record_count) over in_order as count_before,
        lag(middle) over in_order as middle_before,
        low - lag(low) over in_order as low_jump,
        high - lag(high) over in_order as high_jump
    from final
    window in_order as (partition by attempt_id, zone, setting_id order by cut)
)
where
    cut > 0
    and record_count >= getvariable('blind_min_rows')
    and count_before >= getvariable('blind_min_rows')
    -- A part of the records that is slower does not make the whole so.
    and sign(low_jump) = sign(high_jump)
    and least(abs(low_jump), abs(high_jump)) >= 1e6 * ln(1 + getvariable('slow_pct') / 400.0)
