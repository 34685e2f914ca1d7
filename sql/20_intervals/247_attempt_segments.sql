-- Each attempt from its first instant to its end, cut
-- wherever a step piece or a phase begins or ends.
--
-- A segment knows the step piece and the phase that cover it (either may be null), and the last
-- piece that began at or before it.
--
-- grain: attempt_id, started_ms

with pieces as (
    select *, row_number() over (order by attempt_id, started_ms, first) as piece_id
    from intervals.step_pieces
),

phases as (
    select *, rowid as phase_id from intervals.attempt_phases
),

edges as (
    select
        attempt_id,
        started_ms as edge_ms,
        piece_id,
        ended_ms as piece_end_ms,
        cast(null as bigint) as phase_id
    from pieces
    union all
    select attempt_id, ended_ms, null, null, null from pieces
    union all
    select attempt_id, started_ms, null, null, phase_id from phases
    union all
    select attempt_id, ended_ms, null, null, null from phases
    union all
    select
        attempt.attempt_id,
        unnest([gang.ready_ms, attempt.known_end_ms]),
        null,
        null,
        null
    from intervals.gangs as gang
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
    where gang.ready_ms is not null
),

instants as (
    select
        attempt_id,
        edge_ms,
        max(piece_id) as piece_id,
        max(piece_end_ms) as piece_end_ms,
        max(phase_id) as phase_id
    from edges
    group by attempt_id, edge_ms
),

carried as (
    select
        attempt_id,
        edge_ms as started_ms,
        lead(edge_ms) over in_attempt as ended_ms,
        last_value(piece_id ignore nulls) over in_attempt as last_piece_id,
        last_value(piece_end_ms ignore nulls) over in_attempt as piece_end_ms,
        last_value(phase_id ignore nulls) over in_attempt as phase_id
    from instants
    window in_attempt as (partition by attempt_id order by edge_ms)
)

select
    segment.attempt_id,
    segment.started_ms,
    segment.ended_ms,
    coalesce(segment.piece_end_ms > segment.started_ms, false) as is_step,
    phase.kind as phase_kind,
    phase.class as phase_class,
    piece.slow_order,
    piece.slow_position_count,
    piece.baseline_ms,
    piece.slow_class,
    piece.state,
    piece.cause,
    piece.cause_job,
    piece.cause_attempt
from carried as segment
left join pieces as piece on segment.last_piece_id = piece.piece_id
left join phases as phase
    on segment.phase_id = phase.phase_id and phase.ended_ms > segment.started_ms
where segment.ended_ms is not null
