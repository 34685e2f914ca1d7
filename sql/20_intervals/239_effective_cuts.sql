-- Cuts with the stretch of records they can reach: back to the last cut that went at least as deep.
--
-- What was done before that earlier cut lies at or below it, hence at or below this one.
--
-- grain: lineage_id, cut_number

with numbered as (
    select
        *,
        row_number() over (
            partition by lineage_id
            order by attempt_order, cut_key
        ) as cut_number
    from intervals.cuts
)

select
    cut.*,
    coalesce(deeper.cut_number, 0) as reach_cut_number,
    coalesce(deeper.attempt_order, 0) as reach_attempt_order,
    coalesce(deeper.cut_key, 0) as reach_cut_key
from numbered as cut
left join lateral (
    select earlier.cut_number, earlier.attempt_order, earlier.cut_key
    from numbered as earlier
    where
        earlier.lineage_id = cut.lineage_id
        and earlier.cut_number < cut.cut_number
        and earlier.cut_to <= cut.cut_to
    order by earlier.cut_number desc
    limit 1
) as deeper on true
