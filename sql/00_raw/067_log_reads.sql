-- Readings of log files by `collect logs`: how far each was read, and how to know it again.
--
-- A file that grew, was renamed or was packed begins with the same `head_bytes` bytes and keeps its
-- `log_id`. `replaces` names a log_id whose rows this reading contradicts: they no longer count. A file
-- that is found below another root of raw.log_lists is read again.
--
-- grain: row
-- day: modified_at

create table raw.log_reads (
    cluster varchar not null,
    log_id varchar not null,
    stream varchar not null,
    replaces varchar,
    path varchar not null,
    file_bytes bigint not null,
    unread_bytes bigint not null,
    modified_at timestamptz,
    lines bigint not null,
    head_bytes bigint not null,
    head_hash varchar not null,
    steps_hash varchar not null,
    job varchar,
    attempt integer,
    tz varchar,
    reader varchar not null,
    root varchar,
    gone_at timestamptz,
    returned_at timestamptz,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
