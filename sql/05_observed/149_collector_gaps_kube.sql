-- Spans in which objects or events of a cluster were not seen.
--
-- An event lives for an hour: what was not listed within it is lost. A list of one namespace says nothing
-- about the others. A list that could not be read leaves its objects unobserved until somebody looks at
-- them again. After the last look at a cluster nothing of it is seen, which shows once the next one is an hour late.
--
-- grain: row

with listings as (
    select distinct cluster, coalesce(namespace, '') as namespace, observed_at
    from raw.kube_lists
    where kind = 'Event' and observed_at is not null
),

scopes as (
    select distinct cluster, namespace from listings
),

steps as (
    select
        scopes.cluster,
        scopes.namespace,
        listings.observed_at,
        lag(listings.observed_at) over (
            partition by scopes.cluster, scopes.namespace order by listings.observed_at
        ) as listed_before
    from scopes
    inner join listings
        on
            scopes.cluster = listings.cluster
            and listings.namespace in ('', scopes.namespace)
),

looks as (
    select cluster, source_name, "from" as looked_at, true as is_refused, reason
    from raw.collector_gaps
    where "from" = "to"
    union all
    select
        cluster,
        concat(
            'kubernetes ', kind, if(api_group = '', '', '.'), api_group, ' of ' || namespace
        ) as source_name,
        observed_at as looked_at,
        false as is_refused,
        null as reason
    from raw.kube_lists
    where api_group is not null and observed_at is not null
),

refusals as (
    select
        *,
        lead(looked_at) over (partition by cluster, source_name order by looked_at) as next_at
    from looks
),

spans as (
    select
        cluster,
        concat('kubernetes events', if(namespace = '', '', ' of ' || namespace)) as source_name,
        listed_before as "from",
        observed_at - interval 1 hour as "to",
        'events outlived their hour before anyone listed them' as reason
    from steps
    where observed_at - listed_before > interval 1 hour
    union all
    select cluster, source_name, looked_at as "from", next_at as "to", reason
    from refusals
    where is_refused and next_at > looked_at
    union all
    select
        cluster,
        'kubernetes' as source_name,
        last_at as "from",
        null as "to",
        'nobody looked at the cluster any more' as reason
    from observed.cluster_looks
    where getvariable('as_of') - last_at > interval 1 hour
)

select
    *
from spans
