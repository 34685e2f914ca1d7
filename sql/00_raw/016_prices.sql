-- What a GPU-hour of a pool costs, from an instant on: a price holds until the next one of its pool.
--
-- grain: cluster, pool, from
-- day: from

create table raw.prices (
    cluster varchar not null,
    pool varchar not null,
    "from" timestamptz not null,
    "to" timestamptz,
    microdollars_per_gpu_hour bigint not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check ("to" is null or "to" >= "from"),
    -- Up to a thousand dollars: more is dollars for cents, or the price of a node.
    check (microdollars_per_gpu_hour between 0 and 1000000000)
);
