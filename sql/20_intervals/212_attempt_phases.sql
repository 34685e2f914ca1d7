-- Phases of an attempt made disjoint: where they overlap, the stronger kind counts [1.4].
--
-- Overlapping phases form islands; only islands of several phases are cut into pieces, so that the
-- cost stays linear in the number of phases.
--
-- grain: attempt_id, started_ms
-- nothing without: staged.phases

-- Equal phases are one: the two windows below must number them alike.
with clipped as (
    select distinct
        attempt.attempt_id,
        phase.kind,
        phase.class,
        list_position(
            ['restore', 'ckpt_save', 'eval', 'stall', 'data_wait', 'init', 'compile'], phase.kind
        ) as strength_order,
        ms_of(phase.started_at) as started_ms,
        least(ms_of(phase.ended_at), attempt.known_end_ms) as ended_ms
    from staged.phases as phase
    inner join intervals.lineage_attempts as attempt using (cluster, job, attempt)
),

reached as (
    select
        *,
        max(ended_ms) over (
            partition by attempt_id
            order by started_ms, ended_ms, strength_order, class
            rows between unbounded preceding and 1 preceding
        ) as reach_ms
    from clipped
    where ended_ms > started_ms
),

numbered as (
    select
        *,
        sum(case when started_ms >= reach_ms then 1 else 0 end) over (
            partition by attempt_id
            order by started_ms, ended_ms, strength_order, class
            rows between unbounded preceding and current row
        ) as island
    from reached
),

sized as (
    select *, count(*) over (partition by attempt_id, island) as island_size
    from numbered
),

edges as (
    select attempt_id, island, started_ms as edge_ms from sized where island_size > 1
    union
    select attempt_id, island, ended_ms from sized where island_size > 1
),

slots as (
    select
        *,
        lead(edge_ms) over (partition by attempt_id, island order by edge_ms) as next_ms
    from edges
),

contested as (
    select
        slot.attempt_id,
        slot.edge_ms as started_ms,
        slot.next_ms as ended_ms,
        phase.kind,
        phase.class
    from slots as slot
    inner join sized as phase using (attempt_id, island)
    where phase.started_ms <= slot.edge_ms and phase.ended_ms >= slot.next_ms
    qualify row_number() over (
        partition by slot.attempt_id, slot.edge_ms
        order by phase.strength_order, phase.started_ms, phase.class
    ) = 1
)

select attempt_id, kind, class, started_ms, ended_ms
from sized
where island_size = 1

union all by name

select * from contested
