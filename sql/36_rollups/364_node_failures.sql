-- Failures of nodes that began inside the window: unplanned outages, and interruptions laid to a
-- node that stayed schedulable. An interruption whose node is out around its end is the same
-- failure, and so are interruptions that follow each other on one node within that span. Failures
-- of several nodes may be one incident.
--
-- grain: cluster, node_uid, occurred_ms

with outages as (
    select
        cluster,
        node_uid,
        started_ms as occurred_ms,
        class,
        incident
    from rollups.node_outages
    where
        is_failure
        and started_ms >= getvariable('window_start_ms')
        and started_ms < getvariable('window_end_ms')
),

alone as (
    select
        interruptions.cluster,
        interruptions.node_uid,
        ms_of(interruptions."at") as occurred_ms,
        interruptions.class,
        interruptions.incident
    from ledger.interruptions as interruptions
    where
        interruptions.node_uid is not null
        and interruptions.domain = 'infra'
        and not exists (
            select 1
            from rollups.node_outages as outages
            where
                outages.cluster = interruptions.cluster
                and outages.node_uid = interruptions.node_uid
                and outages.is_failure
                and outages.started_ms
                <= ms_of(interruptions."at") + 1000 * getvariable('attrib_after_s')
                and coalesce(outages.ended_ms > (
                    ms_of(interruptions."at") - 1000 * getvariable('attrib_before_s')
                ), true)
        )
),

spaced as (
    select
        cluster,
        node_uid,
        occurred_ms,
        class,
        incident,
        lag(occurred_ms) over (
            partition by cluster, node_uid order by occurred_ms, class
        ) as previous_ms
    from alone
)

select
    cluster,
    node_uid,
    occurred_ms,
    class,
    incident
from outages
union all
select
    cluster,
    node_uid,
    occurred_ms,
    class,
    incident
from spaced
where coalesce(occurred_ms - previous_ms > 1000 * getvariable('attrib_before_s'), true)
