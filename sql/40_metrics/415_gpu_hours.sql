-- Where the GPU time went: GPU-hours and their share of paid time, by state, by cause, by what the
-- node was meanwhile, and by who held it. The scope fleet is all paid time. Shares have GPU-seconds
-- underneath. Time without a cause is in no row of the scopes cause and domain.
--
-- grain: cluster, metric, scope, scope_value

with cells as (
    select
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'state', 'scope_value': state},
            {'scope': 'cause', 'scope_value': cause},
            {'scope': 'domain', 'scope_value': case when cause is not null then domain end},
            {'scope': 'node_state', 'scope_value': node_state},
            {'scope': 'pool', 'scope_value': pool},
            {'scope': 'namespace', 'scope_value': namespace},
            {'scope': 'team', 'scope_value': team},
            {'scope': 'job', 'scope_value': case when cluster <> '*' then job end}
        ], recursive := true),
        unit_ms
    from rollups.gpu_time
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        sum(unit_ms) as unit_ms
    from cells
    where scope_value is not null
    group by cluster, scope, scope_value
),

paid as (
    select cluster, unit_ms as paid
    from sums
    where scope = 'fleet'
),

figures as (
    select
        'gpu_hours' as metric,
        cluster,
        scope,
        scope_value,
        gpu_hours(unit_ms) as value,
        'GPU-hours' as unit
    from sums
    union all by name
    select
        'gpu_share' as metric,
        cluster,
        sums.scope,
        sums.scope_value,
        ratio(sums.unit_ms, paid.paid) as value,
        gpu_seconds(sums.unit_ms) as numerator,
        gpu_seconds(paid.paid) as denominator,
        'ratio' as unit
    from sums
    inner join paid using (cluster)
)

select * from metric_rows(figures)
