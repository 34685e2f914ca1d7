-- How long a workload waits for capacity: the median and the 90th percentile, with the waits that go
-- on as censored (Kaplan and Meier) and those that began before the window entering late. What its
-- owner suspended was not waiting. event_count is the number of waits that came to an end.
--
-- grain: cluster, metric, scope, scope_value

with names (metric, probability) as (
    values
    ('queue_wait_median_hours', 0.5),
    ('queue_wait_p90_hours', 0.9)
),

quantiles as (
    select *
    from rollups.span_quantiles
    inner join names using (probability)
    where measure = 'queue'
),

figures as (
    select * from in_hours(quantiles)
)

select * from metric_rows(figures)
