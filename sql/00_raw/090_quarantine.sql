-- What could not be taken: the file, where in it, what stood there, and why it was refused.
--
-- A problem that `goodput import` or `collect dump` does not find any more in the same file gets a row with
-- `cleared_at`, and one with `again_at` if it comes back; the view `quarantine` shows those that are open.
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
    cleared_at timestamptz,
    again_at timestamptz,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
