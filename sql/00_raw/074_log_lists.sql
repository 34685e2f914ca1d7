-- Looks of `collect logs` at places with logs, one row a root and run.
--
-- A log that is as it was leaves no row: that somebody looked at it is what the listing of its root says,
-- unless the log is, or lies below, one of the `unseen`, or log_reads says that it was gone by then. `reason`
-- says why a listing is not complete.
--
-- grain: row
-- day: listed_at

create table raw.log_lists (
    cluster varchar not null,
    root varchar not null,
    listed_at timestamptz not null,
    is_complete boolean not null,
    reason varchar,
    files bigint not null,
    unseen varchar[],
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
