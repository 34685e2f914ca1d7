-- Events of foreign goodput recorders, as they wrote them: one row an instant.
--
-- `recorder` is resiliency (AI-Hypercomputer) or ml_goodput (ml-goodput-measurement). `event` is
-- the name that goodput/catalog/tracker_events.toml gives it. `t_us` is the instant in
-- microseconds since the epoch, as fine as the recorders write it. `gpus` is how many GPUs a node
-- of the job has, as the user said when the file was collected.
--
-- grain: row
-- day: t

create table raw.tracker_events (
    cluster varchar not null,
    recorder varchar not null,
    job varchar not null,
    event varchar not null,
    t timestamptz not null,
    t_us bigint not null,
    node_rank integer,
    step bigint,
    duration_s double,
    waited_until timestamptz,
    is_synchronous boolean,
    directory varchar,
    detail varchar,
    gpus integer,
    origin varchar,
    origin_line bigint,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (recorder in ('resiliency', 'ml_goodput')),
    check (duration_s is null or duration_s >= 0),
    check (gpus is null or gpus >= 0)
);
