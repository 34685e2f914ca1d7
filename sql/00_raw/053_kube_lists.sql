-- Lists of Kubernetes objects that were read to their end: what is not in one was gone by then.
--
-- A dump does not say which selector made it. So a list speaks only about objects that share its one
-- namespace (NULL: it has several) and every label that all of its items share. A live collector knows its
-- selectors and writes them here. A list that the API server could only finish with newer objects than it
-- began with is not consistent, and proves nobody's absence.
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
    api_group varchar,
    is_consistent boolean,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
