-- Observations that may explain a failure: XIDs, log lines, exits, Kubernetes reasons, slow ranks.
--
-- grain: row
-- day: t

create table raw.evidence (
    cluster varchar not null,
    t timestamptz,
    source varchar not null,
    value varchar,
    node_uid varchar,
    gpu integer,
    pod_uid varchar,
    job varchar,
    attempt integer,
    rank integer,
    reason varchar,
    type varchar,
    "from" timestamptz,
    "to" timestamptz,
    class varchar,
    origin varchar,
    origin_line bigint,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (t is not null or "from" is not null)
);
