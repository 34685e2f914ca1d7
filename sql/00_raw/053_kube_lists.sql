-- Lists of Kubernetes objects that were read to their end: what is not in one was gone by then.
--
-- A dump does not say which selector made it. So a list speaks only about objects that share its one
-- namespace (NULL: it has several) and every label that all of its items share.
--
-- grain: row
-- day: observed_at

create table raw.kube_lists (
    cluster varchar not null,
    kind varchar not null,
    observed_at timestamptz,
    items bigint not null,
    namespace varchar,
    labels varchar not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
