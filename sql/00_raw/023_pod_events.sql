-- Raw pod life-cycle events; the earliest of a kind wins.
--
-- grain: row
-- day: t

create table raw.pod_events (
    cluster varchar not null,
    pod_uid varchar not null,
    kind varchar not null,
    t timestamptz not null,
    exit_code integer,
    reason varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (kind in ('bound', 'running', 'terminated', 'deleted'))
);
