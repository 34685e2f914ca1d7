-- Effective training time of each job over its whole life so far (STANDARD 1.10), from views.ettr.
-- Numerators and denominators are wall seconds.
--
-- grain: cluster, metric, scope, scope_value

with figures as (
    select
        'ettr' as metric,
        cluster,
        'job' as scope,
        job as scope_value,
        value,
        numerator,
        denominator,
        'ratio' as unit
    from views.ettr
)

select * from metric_rows(figures)
