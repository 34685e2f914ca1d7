-- From fault to detection and through the stages of a repair (STANDARD 5.4), with the spans that go on
-- as censored. mttd_hours is the mean from the first evidence to the first blocking condition or the
-- end of the attempt, over those that were detected inside the window; repair_stage_* say where the
-- time goes: isolate (detection to cordon), drain, repair_wait (detection to the start of the repair),
-- repair, return (its end to service). repairs counts when repairs began against the tolerance of
-- catalog.repair_tolerations: early, on_time (up to five minutes after it), late (also if it has not
-- begun), blocked (late, and not begun).
--
-- grain: cluster, metric, scope, scope_value

with fleets as (
    select distinct cluster from rollups.clusters
),

detections as (
    select cluster, scope, scope_value, span_ms
    from rollups.waits
    where measure = 'detect' and is_event
),

mean_times as (
    select
        cluster,
        scope,
        scope_value,
        count(*) as event_count,
        sum(span_ms) as span_ms
    from detections
    group by cluster, scope, scope_value
    union all
    -- A fleet in which nothing was detected says so.
    select fleets.cluster, 'fleet', '', 0, 0
    from fleets
    anti join detections on fleets.cluster = detections.cluster
),

names (metric, measure, probability) as (
    values
    ('mttd_median_hours', 'detect', 0.5),
    ('mttd_p90_hours', 'detect', 0.9)
),

stage_names (metric, probability) as (
    values
    ('repair_stage_median_hours', 0.5),
    ('repair_stage_p90_hours', 0.9)
),

quantiles as (
    select *
    from rollups.span_quantiles
    inner join names using (measure, probability)
    union all by name
    select * replace ('stage' as scope, measure as scope_value)
    from rollups.span_quantiles
    inner join stage_names using (probability)
    where
        scope = 'fleet'
        and measure in ('detect', 'isolate', 'drain', 'repair_wait', 'repair', 'return')
),

starts as (
    select
        clusters.cluster,
        case
            when stages.repair_started_ms is null
                then case when stages.due_ms + 300000 < known.until_ms then 'blocked' end
            when stages.repair_started_ms < stages.due_ms then 'early'
            when stages.repair_started_ms <= stages.due_ms + 300000 then 'on_time'
            else 'late'
        end as timeliness
    from rollups.repair_stages as stages
    cross join (
        select least(getvariable('window_end_ms'), getvariable('as_of_ms')) as until_ms
    ) as known
    inner join rollups.clusters as clusters on stages.cluster = clusters.member
    where
        stages.is_unplanned
        and stages.due_ms is not null
        -- A node that healed before its repair was due needed none.
        and coalesce(stages.back_ms > stages.due_ms or stages.repair_started_ms is not null, true)
        and coalesce(stages.repair_started_ms >= getvariable('window_start_ms'), true)
        and coalesce(stages.repair_started_ms < getvariable('window_end_ms'), true)
        and coalesce(stages.back_ms >= getvariable('window_start_ms'), true)
        and stages.started_ms < getvariable('window_end_ms')
),

timeliness (scope_value) as (
    values ('early'), ('on_time'), ('late'), ('blocked')
),

repairs as (
    select
        fleets.cluster,
        timeliness.scope_value,
        count(starts.cluster) as event_count
    from fleets
    cross join timeliness
    left join starts
        on
            fleets.cluster = starts.cluster
            and (
                timeliness.scope_value = starts.timeliness
                -- What has not begun is late too.
                or timeliness.scope_value = 'late' and starts.timeliness = 'blocked'
            )
    group by fleets.cluster, timeliness.scope_value
),

figures as (
    select
        'mttd_hours' as metric,
        cluster,
        scope,
        scope_value,
        span_ms / 3600000 / nullif(event_count, 0) as value,
        cast(span_ms as double) / 3600000 as numerator,
        event_count as denominator,
        event_count,
        'hours' as unit
    from mean_times
    union all by name
    select * from in_hours(quantiles)
    union all by name
    select
        'repairs' as metric,
        cluster,
        'timeliness' as scope,
        scope_value,
        cast(event_count as double) as value,
        event_count,
        'count' as unit
    from repairs
)

select * from metric_rows(figures)
