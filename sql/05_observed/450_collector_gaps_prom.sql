-- Spans in which Prometheus has no sample at all of what every node or GPU has, and partial answers.
--
-- A hole in a single series is not here: health_checks_prom has it for nodes. Neither is what is not
-- always there, such as a taint or a pod: no sample of it may mean that there is none. A query that
-- never had a sample has no exporter, which is no gap. Queries that lack the same span share a row. As in
-- observed.prom_runs, what is a day from the window is not looked at.
--
-- grain: row

with asked as (
    select
        cluster,
        query,
        greatest(min("from"), getvariable('window_start') - interval 1 day) as asked_from,
        least(max("to"), getvariable('window_end') + interval 1 day) as asked_until
    from raw.prom_slices
    where query in ('node_condition', 'node_unschedulable') or query like 'gpu\_%' escape '\'
    group by cluster, query
    having
        max("to") > getvariable('window_start') - interval 1 day
        and min("from") < getvariable('window_end') + interval 1 day
),

-- The edges of what was collected count as looked at, so that a gap reaches up to them.
edges as (
    select cluster, query, unnest([asked_from, asked_until]) as edge_at
    from asked
    semi join raw.prom_states using (cluster, query)
),

stretches as (
    select
        cluster,
        query,
        "from" as started_at,
        last_at,
        interval_ms
    from raw.prom_states
    semi join asked using (cluster, query)
    where
        last_at >= getvariable('window_start') - interval 1 day
        and "from" < getvariable('window_end') + interval 1 day

    union all

    select cluster, query, edge_at, edge_at, 0
    from edges
),

reached as (
    select
        cluster,
        query,
        started_at,
        max(last_at) over earlier as reached_at,
        greatest(interval_ms, arg_max(interval_ms, last_at) over earlier) as interval_ms
    from stretches
    window earlier as (
        partition by cluster, query order by started_at, last_at
        rows between unbounded preceding and 1 preceding
    )
),

warned as (
    select cluster, query, "from" as started_at, "to" as ended_at, any_value(warnings) as warnings
    from raw.prom_slices
    where warnings is not null
    group by cluster, query, "from", "to"
)

select
    cluster,
    'prometheus' as source_name,
    reached_at as "from",
    started_at as "to",
    'no samples of ' || string_agg(query, ', ' order by query) as reason
from reached
where started_at - reached_at > to_milliseconds(cast(2.5 * interval_ms as bigint))
group by cluster, reached_at, started_at

union all

select
    cluster,
    'prometheus',
    started_at,
    ended_at,
    string_agg(query, ', ' order by query) || ' came with a warning: ' || warnings
from warned
group by cluster, started_at, ended_at, warnings
