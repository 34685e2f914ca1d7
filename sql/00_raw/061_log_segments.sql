-- Attempts inside one log file, in file order from 0.
--
-- grain: row

create table raw.log_segments (
    cluster varchar not null,
    log_id varchar not null,
    segment integer not null,
    reason varchar not null,
    first_line bigint not null,
    last_line bigint not null,
    started_at timestamptz,
    ended_at timestamptz,
    step_records bigint not null,
    first_step bigint,
    last_step bigint,
    resume_step bigint,
    outcome varchar,
    outcome_line bigint,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (
        outcome is null
        or outcome in ('succeeded', 'failed', 'cancelled', 'preempted', 'timeout')
    )
);
