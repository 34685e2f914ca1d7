-- Spans in which a source was not observed.
--
-- `collect kubernetes` writes one without length for each list that it could not read, named like
-- "kubernetes Job.batch of team-a"; 05_observed finds out how long it lasted.
--
-- grain: row
-- day: from

create table raw.collector_gaps (
    cluster varchar not null,
    source_name varchar,
    "from" timestamptz not null,
    "to" timestamptz,
    reason varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check ("to" is null or "to" >= "from")
);
