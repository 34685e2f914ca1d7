-- How much of the window the events of a cluster's nodes were seen: an event lives for an hour, so a
-- list shows the hour before it. A cluster whose events nobody listed has no row.
--
-- grain: cluster

with looks as (
    select
        cluster,
        ms_of(looked_at) as looked_ms,
        coalesce(
            ms_of(looked_at)
            - ms_of(lag(looked_at) over (partition by cluster order by looked_at)),
            3600000
        ) as since_ms
    from staged.event_looks
)

select
    cluster,
    sum(greatest(
        0,
        least(looked_ms, getvariable('window_end_ms'))
        - greatest(looked_ms - least(since_ms, 3600000), getvariable('window_start_ms'))
    )) as seen_ms
from looks
group by cluster
having seen_ms > 0
