-- Facts about the course of training: a rollback by choice, an in-process restart.
--
-- grain: row
-- day: t

create table raw.markers (
    cluster varchar not null,
    job varchar not null,
    attempt integer,
    t timestamptz not null,
    kind varchar,
    cause varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
