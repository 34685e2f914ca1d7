-- For each cut: the newest discarded checkpoint that was
-- claimed complete, and whether one proved bad [2.4].
--
-- grain: lineage_id, cut_number

select
    cut.lineage_id,
    cut.cut_number,
    max(fate.step) as claimed_step,
    bool_or(fate.is_invalid) as is_any_invalid
from intervals.effective_cuts as cut
inner join intervals.checkpoint_fates as fate using (lineage_id, cut_number)
where fate.committed_ms <= cut.cut_ms
group by cut.lineage_id, cut.cut_number
