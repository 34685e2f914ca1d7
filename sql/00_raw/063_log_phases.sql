-- Phases that logs tell of: initialisation, restore, checkpoint, evaluation.
--
-- grain: row
-- day: started_at

create table raw.log_phases (
    cluster varchar not null,
    log_id varchar not null,
    segment integer not null,
    kind varchar not null,
    started_at timestamptz not null,
    ended_at timestamptz,
    line bigint not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (kind in ('init', 'compile', 'restore', 'ckpt_save', 'eval', 'data_wait', 'stall')),
    check (ended_at is null or ended_at >= started_at)
);
