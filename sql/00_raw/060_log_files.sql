-- Log files that were read: what each is, whose it is as far as its name or the user said, and how
-- much of it could be used.
--
-- `log_id` stays the same when the file grows or is rotated; `stream` is the name without what
-- rotation adds. `job` and `attempt` are what the user said, `path_job` and `path_attempt` what the
-- path says.
--
-- grain: row

create table raw.log_files (
    cluster varchar not null,
    log_id varchar not null,
    path varchar not null,
    stream varchar not null,
    name varchar not null,
    format varchar not null,
    lines bigint not null,
    bytes bigint not null,
    tz varchar,
    tz_assumed boolean not null,
    first_at timestamptz,
    last_at timestamptz,
    step_records bigint not null,
    placed_records bigint not null,
    first_step bigint,
    last_step bigint,
    total_steps bigint,
    namespace varchar,
    pod varchar,
    pod_uid varchar,
    container varchar,
    node varchar,
    job varchar,
    attempt integer,
    rank integer,
    path_job varchar,
    path_attempt integer,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (placed_records <= step_records)
);
