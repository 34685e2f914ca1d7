-- What Prometheus sampled, as runs of equal samples.
--
-- A run is what one series said without a break: from the sample at `from` to the one at `last_at`, no
-- two of them farther apart than 2.5 times the scrape interval. Runs are cut at full hours, so that
-- reading the same hours again gives the same rows. Nothing is said about the time after `last_at`:
-- `observed.prom_runs` puts the pieces together and leaves the holes open.
--
-- grain: row
-- day: from

create table raw.prom_states (
    cluster varchar not null,
    query varchar not null,
    labels varchar not null,
    value varchar not null,
    "from" timestamptz not null,
    last_at timestamptz not null,
    samples bigint not null,
    interval_ms bigint not null,
    ingested_at timestamptz,
    ingested_from varchar,
    run_id varchar,
    row_id varchar,
    check (last_at >= "from"),
    check (samples > 0),
    check (interval_ms > 0)
);
