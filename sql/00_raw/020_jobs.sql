-- Jobs: the top object that owns the pods.
--
-- grain: cluster, job
-- day: ended_at

create table raw.jobs (
    cluster varchar not null,
    job varchar not null,
    kind varchar,
    state varchar,
    ended_at timestamptz,
    lineage varchar,
    instrumented boolean,
    name varchar,
    namespace varchar,
    team varchar,
    submitted_at timestamptz,
    owner_kind varchar,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (kind is null or kind in ('training', 'serving', 'notebook', 'other')),
    check (state is null or state in ('running', 'succeeded', 'failed', 'cancelled'))
);
