-- Raw log lines with naive local times, in file order.
--
-- grain: row

create table raw.step_logs (
    cluster varchar not null,
    job varchar not null,
    attempt integer not null,
    tz varchar not null,
    lines varchar[] not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
