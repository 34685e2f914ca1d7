-- How fast the steps of each attempt were: against the best of its lineage, and against the fleet.
--
-- jitter_ms is what single long records took beyond one and a half times the baseline; it is not
-- booked. A lineage that was slow from its first step has no faster segment to compare with: it is
-- possibly slow where its baseline exceeds the median of the baselines of at least three lineages
-- of the same world size and configuration; that is never booked either [3.3, 3.5].
--
-- grain: cluster, job, attempt, world, config

with paced as (
    select
        segment.attempt_id,
        segment.setting_id,
        segment.lineage_id,
        segment.world,
        segment.config,
        sum(segment.clean_count) as clean_count,
        any_value(segment.baseline_ms) as baseline_ms,
        coalesce(any_value(jitter.record_count), 0) as jitter_record_count,
        coalesce(any_value(jitter.jitter_ms), 0) as jitter_ms
    from intervals.judged_segments as segment
    left join intervals.attempt_jitter as jitter using (attempt_id, setting_id)
    group by
        segment.attempt_id,
        segment.setting_id,
        segment.lineage_id,
        segment.world,
        segment.config
),

lineages as (
    select
        lineage_id,
        world,
        config,
        count(*) as segment_count,
        any_value(baseline_ms) as baseline_ms
    from intervals.judged_segments
    group by lineage_id, world, config
),

fleet as (
    select
        world,
        config,
        quantile_disc(baseline_ms, 0.5) as fleet_ms
    from lineages
    where config <> ''
    group by world, config
    having count(*) >= 3
),

filled as (
    select
        attempt_id,
        count(*) filter (where is_synthetic) * 10 > count(*) as is_interpolated
    from intervals.filled_records
    group by attempt_id
)

select
    attempt.cluster,
    attempt.job,
    attempt.attempt,
    paced.world,
    paced.config,
    paced.clean_count,
    median.position_ms,
    paced.baseline_ms,
    fleet.fleet_ms,
    paced.jitter_record_count,
    paced.jitter_ms,
    coalesce(
        paced.baseline_ms * 100 > fleet.fleet_ms * (100 + getvariable('slow_pct')), false
    ) as is_possibly_slow,
    case
        when paced.baseline_ms * 100 > fleet.fleet_ms * (100 + getvariable('slow_pct'))
            then 30
            - case when lineages.segment_count = 1 then 20 else 0 end
            - case when filled.is_interpolated then 10 else 0 end
    end as confidence
from paced
inner join intervals.lineage_attempts as attempt using (attempt_id)
inner join intervals.attempt_medians as median using (attempt_id)
inner join lineages
    on
        paced.lineage_id = lineages.lineage_id
        and paced.world = lineages.world
        and paced.config = lineages.config
left join fleet on paced.world = fleet.world and paced.config = fleet.config
left join filled using (attempt_id)
