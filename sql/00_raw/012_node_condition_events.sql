-- Raw condition transitions, from which intervals are built.
--
-- grain: row
-- day: t

create table raw.node_condition_events (
    cluster varchar not null,
    node_uid varchar not null,
    gpu integer,
    type varchar not null,
    status varchar not null,
    reason varchar,
    t timestamptz not null,
    rv bigint,
    class varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (status in ('True', 'False', 'Unknown'))
);
