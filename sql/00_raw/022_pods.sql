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
    check (
        share is null
        or case
            -- A share is a part of one GPU, in units of which there are 5040.
            when regexp_full_match(share, '[0-9]{1,6}/[1-9][0-9]{0,5}')
                then
                    cast(split_part(share, '/', 1) as integer)
                    between 1
                    and cast(split_part(share, '/', 2) as integer)
                    and 5040 * cast(split_part(share, '/', 1) as bigint)
                    >= cast(split_part(share, '/', 2) as integer)
            else false
        end
    ),
    check (
        devices is null
        or (coalesce(list_min(devices), 0) >= 0 and len(devices) = len(list_distinct(devices)))
    ),
    check (role is null or role in ('worker', 'standby', 'reserved'))
);
