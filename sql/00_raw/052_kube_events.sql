-- Kubernetes events, one row a version: `count` occurrences between first_at and last_at.
--
-- The same event read twice is the same row, however often it is polled; a repeat raises `count`. An event
-- that vanishes has run out of its time to live, which says nothing about its object.
--
-- grain: row
-- day: last_at

create table raw.kube_events (
    cluster varchar not null,
    uid varchar not null,
    namespace varchar,
    name varchar,
    resource_version varchar,
    type varchar,
    reason varchar,
    message varchar,
    count bigint not null,
    first_at timestamptz not null,
    last_at timestamptz not null,
    object_kind varchar,
    object_namespace varchar,
    object_name varchar,
    object_uid varchar,
    component varchar,
    host varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (last_at >= first_at),
    check (count > 0)
);
