-- Step records of logs: positions first..last done over [started_at, ended_at).
--
-- `basis` tells where the end is from: the line itself, the line above, elapsed time added up, or
-- the last time seen before (carried).
--
-- grain: row
-- day: ended_at
-- sorted by: cluster, log_id, segment, ended_at

create table raw.log_steps (
    cluster varchar not null,
    log_id varchar not null,
    segment integer not null,
    first bigint not null,
    last bigint not null,
    started_at timestamptz,
    ended_at timestamptz not null,
    basis varchar not null,
    elapsed_ms bigint,
    samples bigint,
    tokens bigint,
    line bigint not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (last >= first),
    check (started_at is null or ended_at >= started_at),
    check (basis in ('line', 'above', 'elapsed', 'carried'))
);
