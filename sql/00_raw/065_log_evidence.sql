-- Lines that a signature of catalog/log_signatures.csv knows, and such that look like errors and that
-- none knows (signature `unknown`), redacted.
--
-- The first lines of a kind after each start are kept; `repeats` of the first counts the rest.
--
-- grain: row

create table raw.log_evidence (
    cluster varchar not null,
    log_id varchar not null,
    segment integer not null,
    observed_at timestamptz,
    source varchar not null,
    value varchar not null,
    signature varchar not null,
    text varchar not null,
    rank integer,
    repeats bigint not null,
    line bigint not null,
    byte_offset bigint not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (source in ('log', 'xid', 'sxid'))
);
