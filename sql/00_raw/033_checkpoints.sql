-- Checkpoints: written from write_start, durable at committed_at, found bad at invalid_at.
--
-- grain: row
-- day: write_start

create table raw.checkpoints (
    cluster varchar not null,
    job varchar not null,
    attempt integer,
    step bigint not null,
    write_start timestamptz not null,
    committed_at timestamptz,
    invalid_at timestamptz,
    path varchar,
    bytes bigint,
    deleted_at timestamptz,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (step between -1000000000000000 and 1000000000000000)
);
