-- Segments with enough clean records, each with the baseline of its lineage, world size and
-- configuration: the fastest segment median of all their attempts [3.2].
--
-- grain: attempt_id, zone, setting_id

select
    *,
    median_ms * 100 > baseline_ms * (100 + getvariable('slow_pct')) as is_slow
from (
    select
        segment.*,
        attempt.lineage_id,
        coalesce(setting.world, attempt.world, -1) as world,
        coalesce(setting.config, attempt.config, '') as config,
        min(segment.median_ms) over (
            partition by
                attempt.lineage_id,
                coalesce(setting.world, attempt.world, -1),
                coalesce(setting.config, attempt.config, '')
        ) as baseline_ms
    from intervals.step_segments as segment
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    left join intervals.step_settings as setting using (setting_id)
    where segment.clean_count >= getvariable('slow_min_rows')
)
