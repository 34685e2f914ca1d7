-- What operators and repair controllers did to a node: cordon, drain, repair.
--
-- grain: row
-- day: from

create table raw.node_admin (
    cluster varchar not null,
    node_uid varchar not null,
    kind varchar not null,
    action varchar,
    planned boolean,
    class varchar,
    "from" timestamptz not null,
    "to" timestamptz,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (kind in ('cordon', 'drain', 'repair')),
    check (action is null or action in ('replace', 'reboot', 'reset', 'diag')),
    check ("to" is null or "to" >= "from")
);
