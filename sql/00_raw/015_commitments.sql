-- Reserved capacity of a pool, paid whether launched or not.
--
-- grain: row
-- day: from

create table raw.commitments (
    cluster varchar not null,
    pool varchar not null,
    gpus integer not null,
    "from" timestamptz not null,
    "to" timestamptz,
    class varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    -- More are a slip of the pen, and would be as many rows.
    check (gpus between 0 and 1000000),
    check ("to" is null or "to" >= "from")
);
