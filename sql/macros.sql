-- Words that the models share. Run once before them; paste it first when you run a model by hand.

-- An instant after the knowledge time is not known yet [STANDARD 0.5].
create or replace macro known(instant) as
    case when instant <= getvariable('as_of') then instant end;

-- Epoch milliseconds of an instant, which all are whole ones [STANDARD 0.1]: epoch_ms() takes five
-- times as long, as DuckDB 2.0 allocates memory for each value.
create or replace macro ms_of(instant) as epoch_us(instant) // 1000;

-- Epoch milliseconds of an end; an open end lies beyond every instant.
create or replace macro end_ms(instant) as
    coalesce(ms_of(instant), getvariable('forever_ms'));

-- Types that are well when True, like Ready; all others tell of trouble when True [STANDARD 1.6].
create or replace macro is_positive_condition(type) as
    type like '%Ready' or type like '%Healthy';

-- Unknown fails closed whatever the polarity [STANDARD 1.6].
create or replace macro is_bad_condition(type, status) as
    case
        when is_positive_condition(type) then status <> 'True'
        else status in ('True', 'Unknown')
    end;

-- The kubelet ended a pod as its node was shut down: containers are then Completed, Error or OOMKilled at random.
create or replace macro is_node_shutdown(reason) as
    coalesce(reason in ('NodeShutdown', 'Shutdown', 'Terminated'), false);

-- Paid time that a cause kept from being progress. What nobody observed is neither productive nor lost [J5].
create or replace macro is_loss(state, cause) as
    cause is not null and state not like 'A.productive.%' and state <> 'A.unknown';

-- The instant of epoch milliseconds.
create or replace macro instant_of(ms) as make_timestamptz(cast(ms as bigint) * 1000);

-- A failure class if the taxonomy knows it; a check lists the ones it does not know.
create or replace macro known_class(given) as (
    select taxonomy.class
    from catalog.taxonomy as taxonomy
    where taxonomy.class = given
);

-- What makes two observations of a node the same row: it may be the root of several failures [4.7].
create or replace macro root_of(node_uid, gpu, source, value, at_ms) as
    {'node_uid': node_uid, 'gpu': gpu, 'source': source, 'value': value, 'at_ms': at_ms};

-- Whether an attempt is in the range that is being made; without a range all are
-- (goodput/warehouse/shards.py).
create or replace macro in_shard(attempt_id) as (
    getvariable('shard_first') is null
    or attempt_id between getvariable('shard_first') and getvariable('shard_last')
);

-- Time per position of a record. Most are of one position, and whole numbers divide slowly.
create or replace macro position_ms(duration_ms, more_count) as
    case when more_count = 0 then duration_ms else duration_ms // (more_count + 1) end;

-- What metrics are written in: a part of a whole, and what amounts of the ledger are in GPU time.
create or replace macro ratio(part, whole) as
    cast(part as double) / nullif(cast(whole as double), 0);

create or replace macro gpu_seconds(unit_ms) as cast(unit_ms as double) / 5040000;

create or replace macro gpu_hours(unit_ms) as cast(unit_ms as double) / 18144000000;

-- The scopes in which a job or attempt that ended counts; one without a value counts in none.
create or replace macro ended_scopes(namespace, team, size, pool, instance_type, gpu_model) as [
    {'scope': 'fleet', 'scope_value': ''},
    {'scope': 'namespace', 'scope_value': namespace},
    {'scope': 'team', 'scope_value': team},
    {'scope': 'job_size', 'scope_value': size},
    {'scope': 'pool', 'scope_value': pool},
    {'scope': 'instance_type', 'scope_value': instance_type},
    {'scope': 'gpu_model', 'scope_value': gpu_model}
];

-- The rows of a table or common table expression in the shape that all metrics have. It gives the
-- columns that it has something to say in; the others are null.
create or replace macro metric_rows(figures) as table
with shaped as (
    select
        cast(null as double) as value,
        cast(null as double) as low,
        cast(null as double) as high,
        cast(null as double) as numerator,
        cast(null as double) as denominator,
        cast(null as bigint) as event_count
    where false
    union all by name
    select * from query_table(figures)
)

select
    metric,
    scope,
    scope_value,
    cast(value as double) as value,
    cast(low as double) as low,
    cast(high as double) as high,
    cast(numerator as double) as numerator,
    cast(denominator as double) as denominator,
    cast(event_count as bigint) as event_count,
    unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from shaped;

-- Quantiles of spans as metrics in hours: rows of rollups.span_quantiles with the metric that each is.
create or replace macro in_hours(quantiles) as table
select
    metric,
    cluster,
    scope,
    scope_value,
    span_ms / 3600000 as value,
    low_ms / 3600000 as low,
    high_ms / 3600000 as high,
    event_count,
    'hours' as unit
from query_table(quantiles);

-- Ratios of sums, with the 95 % interval of the delete-one jackknife over the jobs or nodes that they
-- are summed from [5.12]. `parts` has part and whole by metric, cluster, scope, scope_value and owner,
-- which is null for what belongs to none of them. Fewer than five owners, or owners that do not
-- differ, tell of no spread: then there is no interval.
create or replace macro jackknifed(parts) as table
with placed as (
    select
        *,
        sum(part) over together as part_sum,
        sum(whole) over together as whole_sum
    from query_table(parts)
    window together as (partition by metric, cluster, scope, scope_value)
),

spread as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        ratio(any_value(part_sum), any_value(whole_sum)) as value,
        any_value(part_sum) as part,
        any_value(whole_sum) as whole,
        count(owner) as owner_count,
        count(owner) filter (where whole > 0) as n,
        var_pop(ratio(part_sum - part, whole_sum - whole)) filter (where owner is not null and whole > 0)
            as variance
    from placed
    group by metric, cluster, scope, scope_value
)

select
    * exclude (n, variance),
    case when n >= 5 and variance > 0 then greatest(0, value - 1.959963984540054 * sqrt((n - 1) * variance)) end
        as low,
    case when n >= 5 and variance > 0 then least(1, value + 1.959963984540054 * sqrt((n - 1) * variance)) end
        as high
from spread;
