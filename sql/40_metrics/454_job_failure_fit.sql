-- How the interruptions of jobs grow with their size (STANDARD 5.5): a rate that every attempt has,
-- whatever its size (interruption_rate_base, per 1000 running hours), and one for each of its nodes
-- (interruption_rate_per_node, per 1000 node-days). Fitted by maximum likelihood to the unplanned
-- interruptions of attempts of each number of nodes, as Poisson counts with rate base + per_node × nodes.
-- mttf_fitted_hours is what the two give for a job of so many GPUs, up to four times the largest that was
-- seen. From five interruptions and two sizes on.
--
-- Intervals come from the observed information; at the edge, where one of the two is zero, there are none.
--
-- grain: cluster, metric, scope, scope_value

with node_sizes as (
    select clusters.cluster, max(node.gpus) as gpus
    from staged.nodes as node
    inner join rollups.clusters as clusters on node.cluster = clusters.member
    group by clusters.cluster
),

sizes as (
    select
        clusters.cluster,
        cast(ceil(attempt.gpus / node_size.gpus) as double) as nodes,
        max(attempt.gpus) as gpus,
        cast(count(*) filter (
            where attempt.is_ended
            and attempt.counts_as <> 'planned'
            and attempt.domain not in ('user', 'baseline')
        ) as double) as n,
        sum(attempt.running_ms) / 3600000 as hours
    from rollups.attempts as attempt
    inner join rollups.clusters as clusters on attempt.cluster = clusters.member
    inner join node_sizes as node_size on clusters.cluster = node_size.cluster
    where attempt.running_ms > 0 and attempt.gpus > 0
    group by clusters.cluster, nodes
),

totals as (
    select
        cluster,
        sum(n) as n,
        sum(hours) as hours,
        sum(nodes * hours) as node_hours,
        max(gpus) as largest_gpus
    from sizes
    group by cluster
    having sum(n) >= 5 and count(*) >= 2
),

-- At the maximum the fit has as many interruptions as there were, which gives the base for each
-- per_node. Along that line the slope of the likelihood only falls: halve the interval it changes sign in.
halvings as (
    with recursive halving as (
        select 0 as turn, cluster, cast(0 as double) as low, n / node_hours as high
        from totals

        union all

        select
            turn + 1,
            cluster,
            case when slope > 0 then middle else low end,
            case when slope > 0 then high else middle end
        from (
            select
                any_value(halving.turn) as turn,
                halving.cluster,
                any_value(halving.low) as low,
                any_value(halving.high) as high,
                any_value((halving.low + halving.high) / 2) as middle,
                sum(
                    sizes.n * (sizes.nodes - total.node_hours / total.hours)
                    / (
                        (total.n - (halving.low + halving.high) / 2 * total.node_hours) / total.hours
                        + (halving.low + halving.high) / 2 * sizes.nodes
                    )
                ) as slope
            from halving
            inner join totals as total on halving.cluster = total.cluster
            inner join sizes on halving.cluster = sizes.cluster
            group by halving.cluster
        )
        where turn < 60
    )

    select cluster, (low + high) / 2 as per_node
    from halving
    where turn = 60
),

-- Sixty halvings leave a zero at this height or below.
fits as (
    select
        cluster,
        case when per_node * node_hours < 1e-9 * n then 0 else per_node end as per_node,
        case when n - per_node * node_hours < 1e-9 * n then 0 else (n - per_node * node_hours) / hours end
            as base,
        largest_gpus,
        n
    from halvings
    inner join totals using (cluster)
),

information as (
    select
        fits.cluster,
        sum(sizes.n / power(base + per_node * nodes, 2)) as of_base,
        sum(sizes.n * nodes / power(base + per_node * nodes, 2)) as of_both,
        sum(sizes.n * nodes * nodes / power(base + per_node * nodes, 2)) as of_node
    from fits
    inner join sizes on fits.cluster = sizes.cluster
    where base > 0 and per_node > 0
    group by fits.cluster
),

variances as (
    select
        fits.*,
        of_node / (of_base * of_node - of_both * of_both) as base_variance,
        of_base / (of_base * of_node - of_both * of_both) as node_variance,
        -of_both / (of_base * of_node - of_both * of_both) as covariance
    from fits
    left join information using (cluster)
),

jobs as (
    select
        variances.cluster,
        cast(size.gpus_to as varchar) as scope_value,
        base + per_node * ceil(size.gpus_to / node_sizes.gpus) as rate,
        sqrt(
            base_variance
            + 2 * covariance * ceil(size.gpus_to / node_sizes.gpus)
            + node_variance * power(ceil(size.gpus_to / node_sizes.gpus), 2)
        ) as error,
        n
    from variances
    inner join node_sizes using (cluster)
    inner join catalog.job_sizes as size on size.gpus_to <= 4 * variances.largest_gpus
),

figures as (
    select
        'interruption_rate_base' as metric,
        cluster,
        'fleet' as scope,
        '' as scope_value,
        1000 * base as value,
        case when base_variance > 0 then 1000 * greatest(0, base - 1.959963984540054 * sqrt(base_variance)) end
            as low,
        1000 * (base + 1.959963984540054 * sqrt(base_variance)) as high,
        n as event_count,
        'interruptions per 1000 hours' as unit
    from variances
    union all by name
    select
        'interruption_rate_per_node' as metric,
        cluster,
        'fleet' as scope,
        '' as scope_value,
        24000 * per_node as value,
        case when node_variance > 0 then 24000 * greatest(0, per_node - 1.959963984540054 * sqrt(node_variance)) end
            as low,
        24000 * (per_node + 1.959963984540054 * sqrt(node_variance)) as high,
        n as event_count,
        'interruptions per 1000 node-days' as unit
    from variances
    union all by name
    select
        'mttf_fitted_hours' as metric,
        cluster,
        'job_gpus' as scope,
        scope_value,
        1 / rate as value,
        -- A rate is positive: its interval is taken on the scale of its logarithm.
        1 / rate * exp(-1.959963984540054 * error / rate) as low,
        1 / rate * exp(1.959963984540054 * error / rate) as high,
        n as event_count,
        'hours' as unit
    from jobs
)

select * from metric_rows(figures)
