-- Explicit phases of an attempt that are not steps.
--
-- grain: row
-- day: start

create table raw.phases (
    cluster varchar not null,
    job varchar not null,
    attempt integer not null,
    kind varchar not null,
    start timestamptz not null,
    "end" timestamptz,
    class varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (kind in ('init', 'compile', 'restore', 'ckpt_save', 'eval', 'data_wait', 'stall')),
    check ("end" is null or "end" >= start)
);
