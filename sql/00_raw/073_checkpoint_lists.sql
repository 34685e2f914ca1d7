-- Listings of checkpoint storage that collectors made, one row a root and run.
--
-- Only a complete one says that what is not in it was gone at `listed_at`; `reason` says why another
-- one is not complete.
--
-- grain: row
-- day: listed_at

create table raw.checkpoint_lists (
    cluster varchar not null,
    root varchar not null,
    listed_at timestamptz not null,
    is_complete boolean not null,
    reason varchar,
    files bigint not null,
    checkpoints bigint not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
