-- Resumptions that logs tell of: training went on from a step.
--
-- `in_process` if steps of the same attempt came before: a restart without a new process.
--
-- grain: row

create table raw.log_restores (
    cluster varchar not null,
    log_id varchar not null,
    segment integer not null,
    step bigint not null,
    restored_at timestamptz,
    in_process boolean not null,
    line bigint not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
