-- What could not be taken: the file, where in it, what stood there, and why it was refused.
--
-- grain: row

create table raw.quarantine (
    cluster varchar not null,
    file varchar not null,
    row_number bigint,
    table_name varchar,
    column_name varchar,
    value varchar,
    reason varchar not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
