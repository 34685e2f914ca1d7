-- Kubernetes objects as they were seen, one row an observation.
--
-- The body is JSON, cut down to the fields of catalog/kube_fields.toml: no environment, no arguments, no
-- annotations but the listed. Instants in it are RFC 3339 in UTC with milliseconds, absent where they were
-- null or zero; GPU resources are whole numbers. `gpu_requests` and `pod_sets` in it are what its pod
-- templates ask for. `observed_at` is the newest instant inside the dumped document, so that reading the
-- same document again adds nothing; a live collector writes the time of its answer.
--
-- grain: row
-- day: observed_at

create table raw.kube_objects (
    cluster varchar not null,
    api_version varchar not null,
    kind varchar not null,
    namespace varchar,
    name varchar not null,
    uid varchar,
    resource_version varchar,
    owner_kind varchar,
    owner_name varchar,
    owner_uid varchar,
    observed_at timestamptz,
    is_deleted boolean not null,
    body varchar not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar
);
