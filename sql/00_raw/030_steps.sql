-- Step records: positions first..last (or one step) done over [start, end).
--
-- grain: row
-- day: end
-- sorted by: cluster, job, attempt, end

create table raw.steps (
    cluster varchar not null,
    job varchar not null,
    attempt integer not null,
    step bigint,
    first bigint,
    last bigint,
    start timestamptz,
    "end" timestamptz not null,
    world integer,
    config varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (step is not null or (first is not null and last is not null)),
    -- Beyond are no counters; sums of positions must stay within the type.
    check (step between -1000000000000000 and 1000000000000000),
    check (first between -1000000000000000 and 1000000000000000),
    check (last between -1000000000000000 and 1000000000000000),
    check (first is null or last >= first),
    check (start is null or "end" >= start)
);
