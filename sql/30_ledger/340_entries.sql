-- The ledger as it is written: one row for a share of a group of devices over one interval.
--
-- unit_count is over all devices of the group. Where attempt_id stands in the place of charge_id, the
-- attempt's timeline tells what the time is charged with: ledger.crew_pieces cuts it for all entries
-- of the same attempt and interval at once, and ledger.bookings shows each with its charge.
--
-- grain: group_id, started_ms, pod_id

with shares as (
    select
        share.group_id,
        share.pod_id,
        device.profile_id,
        share.started_ms,
        share.ended_ms,
        cast(len(device.gpus) * share.unit_count as integer) as unit_count
    from (
        select
            group_id,
            started_ms,
            ended_ms,
            unnest(held, recursive := true)
        from ledger.held_spans
    ) as share
    inner join ledger.device_groups as device using (group_id)
),

-- Nearly every pod has one share, which lasts as long as all its pieces.
single_shares as (
    select
        pod_id,
        any_value(group_id) as group_id,
        any_value(unit_count) as unit_count
    from shares
    group by pod_id
    having count(*) = 1
),

held as (
    select
        share.group_id,
        piece.pod_id,
        piece.started_ms,
        piece.ended_ms,
        share.unit_count,
        piece.charge_id,
        piece.attempt_id,
        piece.node_state,
        cast(null as bigint) as outage_started_ms
    from ledger.held_pieces as piece
    inner join single_shares as share using (pod_id)

    union all

    select
        share.group_id,
        piece.pod_id,
        greatest(piece.started_ms, share.started_ms) as started_ms,
        least(piece.ended_ms, share.ended_ms) as ended_ms,
        share.unit_count,
        piece.charge_id,
        piece.attempt_id,
        piece.node_state,
        cast(null as bigint) as outage_started_ms
    from ledger.held_pieces as piece
    inner join (
        select *
        from shares
        anti join single_shares using (pod_id)
    ) as share
        on
            piece.pod_id = share.pod_id
            and piece.profile_id = share.profile_id
            and piece.started_ms < share.ended_ms
            and piece.ended_ms > share.started_ms
),

unavailable as (
    select
        free.group_id,
        cast(null as bigint) as pod_id,
        free.started_ms,
        free.ended_ms,
        cast(free.gpu_count * free.free_units as integer) as unit_count,
        charge.charge_id,
        cast(null as integer) as attempt_id,
        free.node_state,
        free.outage_started_ms
    from ledger.free_pieces as free
    inner join ledger.charges as charge
        on
            'U.' || free.node_state = charge.state
            and coalesce(free.outage_class, 'base.overhead') = charge.cause
    where free.node_state <> 'available'
),

idle as (
    select
        piece.group_id,
        cast(null as bigint) as pod_id,
        piece.started_ms,
        piece.ended_ms,
        cast(len(device.gpus) * piece.free_units as integer) as unit_count,
        charge.charge_id,
        cast(null as integer) as attempt_id,
        'available' as node_state,
        cast(null as bigint) as outage_started_ms
    from ledger.idle_pieces as piece
    inner join ledger.device_groups as device using (group_id)
    inner join ledger.charges as charge
        on
            piece.state = charge.state
            and piece.cause is not distinct from charge.cause
            and piece.cause_job is not distinct from charge.cause_job
            and piece.cause_attempt is not distinct from charge.cause_attempt
)

select * from held
union all by name
select * from unavailable
union all by name
select * from idle
