-- What Prometheus sampled, put together over the hours: what was so, from when to when.
--
-- Something lasts until the next sample that says otherwise, if that came in time; else until its
-- last sample, and a hole follows, of which nothing is known. What was still so at the end of all that
-- was collected is open. Where two exporters contradict each other, the one that spoke up later counts.
--
-- grain: cluster, query, labels, started_at

with asked as (
    select
        cluster,
        query,
        max("to") as asked_until
    from raw.prom_slices
    group by cluster, query
),

stated as (
    select
        cluster,
        query,
        labels,
        value,
        "from" as started_at,
        max(last_at) as last_at,
        max(interval_ms) as interval_ms,
        min(ingested_at) as ingested_at,
        min(ingested_from) as ingested_from
    from raw.prom_states
    group by cluster, query, labels, value, "from"
),

ordered as (
    select
        *,
        lag(value) over series_order as value_before,
        max(last_at) over (
            partition by cluster, query, labels order by started_at, last_at, value
            rows between unbounded preceding and 1 preceding
        ) as reached_at,
        lag(interval_ms) over series_order as interval_before_ms
    from stated
    window series_order as (
        partition by cluster, query, labels order by started_at, last_at, value
    )
),

marked as (
    select
        *,
        coalesce(
            value <> value_before
            or started_at - reached_at
            > to_milliseconds(cast(2.5 * greatest(interval_ms, interval_before_ms) as bigint)),
            true
        ) as is_new
    from ordered
),

numbered as (
    select
        *,
        sum(case when is_new then 1 else 0 end) over (
            partition by cluster, query, labels order by started_at, last_at, value
        ) as run
    from marked
),

runs as (
    select
        cluster,
        query,
        labels,
        any_value(value) as value,
        min(started_at) as started_at,
        max(last_at) as last_at,
        max(interval_ms) as interval_ms,
        min(ingested_at) as ingested_at,
        min(ingested_from) as ingested_from
    from numbered
    group by cluster, query, labels, run
),

followed as (
    select
        *,
        lead(started_at) over (
            partition by cluster, query, labels order by started_at, last_at, value
        ) as next_at,
        lag(value) over (
            partition by cluster, query, labels order by started_at, last_at, value
        ) as value_before,
        lag(last_at) over (
            partition by cluster, query, labels order by started_at, last_at, value
        ) as seen_before_at
    from runs
)

select
    followed.cluster,
    followed.query,
    followed.labels,
    followed.labels ->> '$.node' as node_name,
    try_cast(followed.labels ->> '$.gpu' as integer) as gpu,
    followed.value,
    followed.started_at,
    case
        when
            followed.next_at - followed.last_at
            <= to_milliseconds(cast(2.5 * followed.interval_ms as bigint))
            then followed.next_at
        when
            followed.next_at is null
            and asked.asked_until - followed.last_at
            <= to_milliseconds(cast(2.5 * followed.interval_ms as bigint))
            then null
        else followed.last_at
    end as ended_at,
    followed.last_at,
    followed.interval_ms,
    followed.value_before,
    followed.seen_before_at,
    followed.ingested_at,
    followed.ingested_from
from followed
inner join asked using (cluster, query)
