-- Spans whose events were lost: an event lives for an hour, and nobody listed events in time.
--
-- grain: row

with listings as (
    select distinct cluster, observed_at
    from raw.kube_lists
    where kind = 'Event' and observed_at is not null
),

steps as (
    select
        cluster,
        observed_at,
        lag(observed_at) over (partition by cluster order by observed_at) as listed_before
    from listings
)

select
    cluster,
    'kubernetes events' as source_name,
    listed_before as "from",
    observed_at - interval 1 hour as "to",
    'events outlived their hour before anyone listed them' as reason,
    cast(null as timestamptz) as ingested_at,
    cast(null as varchar) as ingested_from,
    cast(null as varchar) as run_id,
    cast(null as varchar) as row_id
from steps
where observed_at - listed_before > interval 1 hour
