-- Checkpoints found in listings of storage: one row for each checkpoint directory or file set.
--
-- `root` is the directory above it. `is_complete` follows the rule of its layout in
-- goodput/catalog/checkpoint_layouts.toml, null when only its name was listed; `defect` says what
-- is missing. Times are null where the listing shows none. `planned_steps` is what the trainer's
-- own state says it wants to reach. `deleted_at` is the listing that no longer had a checkpoint which
-- an earlier one of the same root had, `returned_at` the one that found it again as it was.
--
-- grain: row
-- day: last_written_at

create table raw.checkpoint_files (
    cluster varchar not null,
    job varchar,
    root varchar,
    path varchar not null,
    layout varchar not null,
    step bigint,
    files bigint,
    bytes bigint,
    first_written_at timestamptz,
    last_written_at timestamptz,
    committed_at timestamptz,
    is_complete boolean,
    defect varchar,
    planned_steps bigint,
    deleted_at timestamptz,
    returned_at timestamptz,
    origin varchar,
    origin_line bigint,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (bytes is null or bytes >= 0),
    check (last_written_at is null or last_written_at >= first_written_at)
);
