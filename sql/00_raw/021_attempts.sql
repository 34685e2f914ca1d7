-- Attempts of a job: one gang from its first bind to the moment it is declared over.
--
-- grain: cluster, job, attempt
-- day: start

create table raw.attempts (
    cluster varchar not null,
    job varchar not null,
    attempt integer not null,
    start timestamptz not null,
    "end" timestamptz,
    outcome varchar,
    resume_step bigint,
    min_members integer,
    restart_kind varchar,
    world integer,
    config varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (
        outcome is null
        or outcome in (
            'running',
            'succeeded',
            'failed',
            'preempted',
            'evicted',
            'cancelled',
            'rollback',
            'resized',
            'timeout',
            'spot'
        )
    ),
    check ("end" is null or "end" >= start),
    check (resume_step between -1000000000000000 and 1000000000000000)
);
