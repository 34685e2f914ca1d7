-- Workloads waiting for capacity.
--
-- grain: row
-- day: from

create table raw.queue (
    cluster varchar not null,
    job varchar not null,
    attempt integer not null,
    pool varchar,
    pods integer not null,
    gpus_per_pod integer not null,
    "from" timestamptz not null,
    "to" timestamptz,
    suspended boolean,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (pods > 0),
    check (gpus_per_pod > 0),
    check ("to" is null or "to" >= "from")
);
