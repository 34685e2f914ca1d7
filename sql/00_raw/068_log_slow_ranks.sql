-- Ranks that a log reports as slower than the others, over the time since the report before.
--
-- `node` is what the report calls the machine: a host or a pod. `excess` is by how much of the
-- others' time the rank was slower, where the report gives times; a straggler detector that only
-- names ranks gives none.
--
-- grain: row

create table raw.log_slow_ranks (
    cluster varchar not null,
    log_id varchar not null,
    segment integer not null,
    rank integer not null,
    node varchar,
    excess double,
    started_at timestamptz,
    reported_at timestamptz,
    reports integer not null,
    line bigint not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (rank >= 0)
);
