-- Effective training time of each job over its whole life so far (STANDARD 1.10), from views.ettr.
-- Numerators and denominators are wall seconds.
--
-- grain: cluster, metric, scope, scope_value

select
    'ettr' as metric,
    'job' as scope,
    job as scope_value,
    value,
    cast(null as double) as low,
    cast(null as double) as high,
    numerator,
    denominator,
    cast(null as bigint) as event_count,
    'ratio' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from views.ettr
