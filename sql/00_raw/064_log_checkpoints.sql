-- Checkpoints that logs tell of: when the write began and when it was durable.
--
-- `step` is as printed, `position` the last one it covers, as the steps of the log are counted.
-- A checkpoint whose log has no times has neither, but may be complete.
--
-- grain: row

create table raw.log_checkpoints (
    cluster varchar not null,
    log_id varchar not null,
    segment integer not null,
    step bigint,
    position bigint,
    began_at timestamptz,
    committed_at timestamptz,
    complete boolean not null,
    blocking boolean not null,
    line bigint not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
