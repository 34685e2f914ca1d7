-- Money (STANDARD 5.13), in dollars with whole cents: cost_dollars is what the time of the ledger cost
-- at the prices of its pools, lost_cost_dollars the part that was lost, by the class it is charged to.
-- The lines of one scope add up to its sum to the cent: what rounding leaves over goes to the lines
-- with the largest remainders. priced_share is the part of the paid time that has a price; without
-- prices there is no money.
--
-- grain: cluster, metric, scope, scope_value

with costs as (
    select 'cost_dollars' as metric, * from rollups.costs
    union all
    select 'lost_cost_dollars' as metric, * from rollups.costs
    where is_lost
),

scoped as (
    select
        metric,
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'pool', 'scope_value': pool},
            {'scope': 'state', 'scope_value': state},
            {'scope': 'class', 'scope_value': cause},
            {'scope': 'team', 'scope_value': team},
            -- A job's key is unique in its cluster only.
            {'scope': 'job', 'scope_value': case when cluster <> '*' then job end}
        ], recursive := true),
        weighted_cost
    from costs
),

lines as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        sum(weighted_cost) as weighted_cost
    from scoped
    where scope_value is not null
    group by metric, cluster, scope, scope_value
),

-- 5040 units × 3600000 ms × 10000 micro-dollars a cent.
cents as (
    select
        *,
        weighted_cost // 181440000000000 as whole_cents,
        weighted_cost % 181440000000000 as rest,
        (sum(weighted_cost) over (partition by metric, cluster, scope) + 90720000000000)
        // 181440000000000 as sum_cents
    from lines
),

rounded as (
    select
        *,
        whole_cents + case
            when row_number() over (
                partition by metric, cluster, scope order by rest desc, scope_value
            ) <= sum_cents - sum(whole_cents) over (partition by metric, cluster, scope)
                then 1
            else 0
        end as cents
    from cents
),

paid as (
    select
        cluster,
        member,
        pool,
        sum(unit_ms) as unit_ms
    from rollups.gpu_time
    group by cluster, member, pool
),

-- How much of the window each pool has a price for; prices of one pool do not overlap.
covered as (
    select
        cluster,
        pool,
        sum(
            greatest(
                0,
                least(end_ms(ended_at), getvariable('window_end_ms'))
                - greatest(ms_of(started_at), getvariable('window_start_ms'))
            )
        ) as covered_ms
    from staged.prices
    group by cluster, pool
),

shares as (
    select
        paid.cluster,
        cast(sum(
            cast(paid.unit_ms as double) * coalesce(covered.covered_ms, 0)
            / (getvariable('window_end_ms') - getvariable('window_start_ms'))
        ) as double) / 5040000 as part,
        cast(sum(paid.unit_ms) as double) / 5040000 as whole
    from paid
    left join covered on paid.member = covered.cluster and paid.pool = covered.pool
    group by paid.cluster
    having bool_or(covered.pool is not null)
),

figures as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        cast(cents as double) / 100 as value,
        'dollars' as unit
    from rounded
    union all by name
    select
        'priced_share' as metric,
        cluster,
        'fleet' as scope,
        '' as scope_value,
        part / nullif(whole, 0) as value,
        part as numerator,
        whole as denominator,
        'ratio' as unit
    from shares
)

select * from metric_rows(figures)
