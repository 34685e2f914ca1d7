-- How far the clock of an attempt or a node runs ahead of the API server.
--
-- grain: row

create table raw.clock_offsets (
    cluster varchar not null,
    job varchar,
    attempt integer,
    node_uid varchar,
    offset_s double not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (job is not null or node_uid is not null),
    -- A clock that is a year off says nothing.
    check (offset_s between -31536000 and 31536000)
);
