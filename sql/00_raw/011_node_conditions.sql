-- Node or device conditions as intervals.
--
-- grain: row
-- day: from

create table raw.node_conditions (
    cluster varchar not null,
    node_uid varchar not null,
    gpu integer,
    type varchar not null,
    status varchar not null,
    reason varchar,
    "from" timestamptz not null,
    "to" timestamptz,
    class varchar,
    blocking boolean,
    degrade boolean,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (status in ('True', 'False', 'Unknown')),
    check ("to" is null or "to" >= "from")
);
