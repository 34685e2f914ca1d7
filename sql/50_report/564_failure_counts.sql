-- What each count of failures in the report counts, and how they add up: the rows with the same part_of
-- sum to the row that it names. The counts differ as they answer different questions: what hit jobs, what
-- took nodes away, what broke.
--
-- grain: topic

with interruptions as (
    select
        interruption.node_uid is not null as is_on_node,
        interruption.domain not in ('user', 'baseline') and taxonomy.counts_as <> 'planned'
            as is_unplanned
    from ledger.interruptions as interruption
    left join catalog.taxonomy as taxonomy on interruption.class = taxonomy.class
),

outages as (
    select
        is_failure,
        started_ms < getvariable('window_start_ms') as is_old
    from rollups.node_outages
    where
        not is_birth
        and started_ms < getvariable('window_end_ms')
        and coalesce(ended_ms, getvariable('window_end_ms')) > getvariable('window_start_ms')
),

failures as (
    select failure.cluster, failure.incident, outage.started_ms is not null as is_outage
    from rollups.node_failures as failure
    left join (
        select distinct cluster, node_uid, started_ms
        from rollups.node_outages
        where is_failure
    ) as outage
        on
            failure.cluster = outage.cluster
            and failure.node_uid = outage.node_uid
            and failure.occurred_ms = outage.started_ms
),

counts as (
    select unnest([
        {'topic': 'interruptions', 'event_count': count(*)},
        {
            'topic': 'interruptions_asked',
            'event_count': count(*) filter (where not coalesce(is_unplanned, false))
        },
        {
            'topic': 'interruptions_on_node',
            'event_count': count(*) filter (where is_unplanned and is_on_node)
        },
        {
            'topic': 'interruptions_elsewhere',
            'event_count': count(*) filter (where is_unplanned and not is_on_node)
        }
    ], recursive := true)
    from interruptions
    union all by name
    select
        'jobs_failed' as topic,
        count(*) filter (where is_failure) as event_count
    from rollups.ended_jobs
    union all by name
    select unnest([
        {'topic': 'outages', 'event_count': count(*)},
        {
            'topic': 'outages_planned',
            'event_count': count(*) filter (where not coalesce(is_failure, false))
        },
        {'topic': 'outages_before', 'event_count': count(*) filter (where is_failure and is_old)},
        {
            'topic': 'outages_failed',
            'event_count': count(*) filter (where is_failure and not is_old)
        }
    ], recursive := true)
    from outages
    union all by name
    select unnest([
        {'topic': 'node_failures', 'event_count': count(*)},
        {'topic': 'node_failures_out', 'event_count': count(*) filter (where is_outage)},
        {'topic': 'node_failures_up', 'event_count': count(*) filter (where not is_outage)},
        {'topic': 'incidents', 'event_count': count(distinct (cluster, incident))}
    ], recursive := true)
    from failures
)

select
    names.position,
    names.topic,
    names.part_of,
    names.label,
    names.counted_by,
    counts.event_count
from catalog.failure_counts as names
inner join counts using (topic)
