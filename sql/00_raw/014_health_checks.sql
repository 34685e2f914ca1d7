-- Beats of the health checks that a node must pass; silence beyond the bound fails closed.
--
-- grain: row

create table raw.health_checks (
    cluster varchar not null,
    node_uid varchar not null,
    "check" varchar not null,
    required boolean,
    stale_after_s double not null,
    beats struct("from" timestamptz, "to" timestamptz, every_s double)[],
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    -- From a second to a year: beats are counted one by one.
    check (stale_after_s between 1 and 31536000),
    -- Beats follow each other after some time. A CHECK may not look into a list but as text.
    check (not regexp_matches(cast(to_json(beats) as varchar), '"every_s":(-|0\.0[,}])'))
);
