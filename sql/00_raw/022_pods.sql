-- Pods with the GPUs they hold and how they ended.
--
-- grain: cluster, pod_uid
-- day: bound_at

create table raw.pods (
    cluster varchar not null,
    pod_uid varchar not null,
    name varchar,
    namespace varchar,
    job varchar,
    attempt integer,
    node_uid varchar,
    gpus integer,
    devices integer[],
    share varchar,
    role varchar,
    rank integer,
    bound_at timestamptz,
    running_at timestamptz,
    terminated_at timestamptz,
    released_at timestamptz,
    exit_code integer,
    reason varchar,
    disruption varchar,
    last_seen timestamptz,
    gone_by timestamptz,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (gpus is null or gpus >= 0),
    check (role is null or role in ('worker', 'standby'))
);
