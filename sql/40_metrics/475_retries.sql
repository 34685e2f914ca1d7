-- What retries were worth: how many bad ends were followed by another attempt that has shown what it is
-- worth (retries), how many of these helped (retry_success), and the GPU time that the others held
-- (retry_wasted_gpu_hours). The scope retry_rule is what catalog.taxonomy says of the class: no retry of
-- `no` and `after_fix` can help until somebody changes something.
--
-- grain: cluster, metric, scope, scope_value

with decided as (
    select
        clusters.cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'class', 'scope_value': retries.class},
            {'scope': 'domain', 'scope_value': taxonomy.domain},
            {'scope': 'retry_rule', 'scope_value': taxonomy.retry_default}
        ], recursive := true),
        retries.is_helped,
        retries.unit_ms
    from rollups.retries as retries
    inner join rollups.clusters as clusters on retries.cluster = clusters.member
    inner join catalog.taxonomy as taxonomy on retries.class = taxonomy.class
    where retries.is_decided
    union all
    -- A fleet without retries has a row all the same.
    select distinct cluster, 'fleet', '', null, 0
    from rollups.clusters
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        count(is_helped) as n,
        count(*) filter (where is_helped) as helped_count,
        coalesce(sum(unit_ms) filter (where not is_helped), 0) as wasted_ms
    from decided
    group by cluster, scope, scope_value
),

figures as (
    select 'retries' as metric, cluster, scope, scope_value, n as value, n as event_count, 'count' as unit
    from sums
    union all by name
    select
        'retry_success' as metric,
        cluster,
        scope,
        scope_value,
        ratio(helped_count, n) as value,
        helped_count as numerator,
        n as denominator,
        n as event_count,
        'ratio' as unit
    from sums
    union all by name
    select
        'retry_wasted_gpu_hours' as metric,
        cluster,
        scope,
        scope_value,
        gpu_hours(wasted_ms) as value,
        n - helped_count as event_count,
        'GPU-hours' as unit
    from sums
)

select * from metric_rows(figures)
