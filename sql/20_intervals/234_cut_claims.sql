-- For each cut: the newest discarded checkpoint that was claimed complete, and whether one proved bad [2.4].
--
-- grain: cluster, lineage, cut_number

select
    cut.cluster,
    cut.lineage,
    cut.cut_number,
    max(fate.step) as claimed_step,
    bool_or(fate.is_invalid) as is_any_invalid
from intervals.effective_cuts as cut
inner join intervals.checkpoint_fates as fate using (cluster, lineage, cut_number)
where fate.committed_ms <= cut.cut_ms
group by cut.cluster, cut.lineage, cut.cut_number
