-- What Prometheus sampled, put together over the hours: what was so, from when to when.
--
-- Something lasts until the next sample that says otherwise, if that came in time; else until its
-- last sample, and a hole follows, of which nothing is known. What was still so at the end of all that
-- was collected is open. Where two exporters contradict each other, the one that spoke up later counts.
--
-- A lake may hold years, and a build is about a week: read is what lies within a day of the window. Only
-- what was amiss there, and pods, are followed to where they began and ended; of all else, how long it
-- had been so before does not matter.
--
-- grain: cluster, query, labels, started_at

with near as (
    select *
    from raw.prom_states
    where
        last_at >= getvariable('window_start') - interval 1 day
        and "from" < getvariable('window_end') + interval 1 day
),

-- Cut at full hours, so that what goes on over an edge stands in the hour inside it.
at_edges as (
    select cluster, query, labels, value, try_cast(value as double) as number
    from near
    where
        "from" < getvariable('window_start') - interval 23 hours
        or last_at >= getvariable('window_end') + interval 23 hours
),

most as (
    select cluster, query, labels, max(try_cast(value as double)) as number
    from near
    where query = 'node_gpus_capacity'
    group by cluster, query, labels
),

followed_series as (
    select distinct edge.cluster, edge.query, edge.labels
    from at_edges as edge
    left join most
        on
            edge.query = 'node_gpus_allocatable'
            and edge.cluster = most.cluster
            and edge.labels = most.labels
    where
        case edge.query
            when 'node_condition'
                then
                    is_bad_condition(
                        edge.labels ->> '$.condition',
                        case edge.value
                            when 'true' then 'True' when 'false' then 'False' else 'Unknown'
                        end
                    )
            when 'node_gpus_allocatable' then edge.number < coalesce(most.number, 'infinity')
            when 'node_unschedulable' then edge.number <> 0
            when 'gpu_throttle' then edge.number <> 0
            else edge.query = 'node_taint' or edge.query like 'pod\_%' escape '\' or edge.query = 'job_owner'
        end
),

read_states as (
    select * from near

    union all

    select far.*
    from raw.prom_states as far
    semi join followed_series using (cluster, query, labels)
    where
        far.last_at < getvariable('window_start') - interval 1 day
        or far."from" >= getvariable('window_end') + interval 1 day
),

asked as (
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
    from read_states
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
            and case
                when followed_series.labels is null
                    then
                        least(
                            asked.asked_until, getvariable('window_end') + interval 1 day
                        )
                else asked.asked_until
            end
            - followed.last_at
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
left join followed_series using (cluster, query, labels)
