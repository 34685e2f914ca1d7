-- Hours that Prometheus was asked for and answered whole, per query.
--
-- The newest one tells where the next collection begins. A warning means that the answer may lack
-- series, as a Thanos or Mimir with a part of it down says.
--
-- grain: row
-- day: from

create table raw.prom_slices (
    cluster varchar not null,
    query varchar not null,
    "from" timestamptz not null,
    "to" timestamptz not null,
    series bigint not null,
    samples bigint not null,
    warnings varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check ("to" > "from")
);
