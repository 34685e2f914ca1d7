-- Where every paid GPU-millisecond of the window went, and why: the ledger.
--
-- Exactly one row for each share of a device at each instant; unit_ms = units ×
-- milliseconds, 5040 units a GPU. cause_job and cause_attempt name the attempt
-- whose end is charged, outage_started_at the outage. A committed GPU that was
-- never launched has no node; its gpu number only tells the missing ones apart.
--
-- grain: cluster, pool, node_uid, gpu, started_at, pod_uid

with shares as (
    select
        cluster,
        node_uid,
        gpu,
        started_ms,
        ended_ms,
        unnest(held, recursive := true)
    from ledger.held_spans
),

-- Whole devices held alone for long keep one row; a share row is joined to the pieces of its pod.
held as (
    select
        piece.cluster,
        piece.node_uid,
        share.gpu,
        greatest(piece.started_ms, share.started_ms) as started_ms,
        least(piece.ended_ms, share.ended_ms) as ended_ms,
        share.unit_count,
        piece.state,
        piece.cause,
        piece.node_state,
        piece.job,
        piece.attempt,
        piece.namespace,
        piece.pod_uid,
        piece.cause_job,
        piece.cause_attempt,
        cast(null as bigint) as outage_started_ms
    from ledger.held_pieces as piece
    inner join shares as share
        on
            piece.cluster = share.cluster
            and piece.pod_uid = share.pod_uid
            and list_contains(piece.gpus, share.gpu)
            and piece.started_ms < share.ended_ms
            and piece.ended_ms > share.started_ms
),

unavailable as (
    select
        cluster,
        node_uid,
        gpu,
        started_ms,
        ended_ms,
        free_units as unit_count,
        'U.' || node_state as state,
        coalesce(outage_class, 'base.overhead') as cause,
        node_state,
        outage_started_ms
    from ledger.free_pieces
    where node_state <> 'available'
),

idle as (
    select
        cluster,
        node_uid,
        gpu,
        started_ms,
        ended_ms,
        free_units as unit_count,
        state,
        cause,
        'available' as node_state,
        cause_job,
        cause_attempt
    from ledger.idle_pieces
),

on_devices as (
    select * from held
    union all by name
    select * from unavailable
    union all by name
    select * from idle
),

everything as (
    select
        row.*,
        device.node_name,
        device.pool
    from on_devices as row
    inner join ledger.devices as device using (cluster, node_uid, gpu)

    union all by name

    select
        cluster,
        pool,
        gpu,
        started_ms,
        ended_ms,
        5040 as unit_count,
        'U.unlaunched' as state,
        class as cause,
        'unlaunched' as node_state
    from ledger.unlaunched
)

select
    entry.cluster,
    entry.node_uid,
    entry.node_name,
    entry.pool,
    entry.gpu,
    instant_of(entry.started_ms) as started_at,
    instant_of(entry.ended_ms) as ended_at,
    cast(entry.unit_count * (entry.ended_ms - entry.started_ms) as bigint) as unit_ms,
    entry.state,
    entry.cause,
    taxonomy.domain,
    entry.node_state,
    entry.job,
    entry.attempt,
    entry.namespace,
    entry.pod_uid,
    entry.cause_job,
    entry.cause_attempt,
    instant_of(entry.outage_started_ms) as outage_started_at,
    attribution.confidence
from everything as entry
left join catalog.taxonomy as taxonomy on entry.cause = taxonomy.class
left join intervals.attribution as attribution
    on
        entry.cluster = attribution.cluster
        and entry.cause_job = attribution.job
        and entry.cause_attempt = attribution.attempt
