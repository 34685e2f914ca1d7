-- Nodes of the cluster, one version a row: identity, pool, capacity and the span they are paid for.
--
-- grain: cluster, node_uid
-- day: registered_at

create table raw.nodes (
    cluster varchar not null,
    node_uid varchar not null,
    name varchar,
    pool varchar,
    gpus integer not null,
    registered_at timestamptz,
    ready_at timestamptz,
    deleted_at timestamptz,
    paid_from timestamptz,
    paid_to timestamptz,
    replaces_cause varchar,
    instance_type varchar,
    gpu_model varchar,
    topology varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    -- More are a slip of the pen, and would be as many rows.
    check (gpus between 0 and 16384),
    check (registered_at is not null or paid_from is not null)
);
