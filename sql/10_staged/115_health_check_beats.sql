-- Beat trains of the required health checks: beats at
-- started_at, then every so often up to ended_at.
--
-- grain: row

select distinct
    given.cluster,
    given.node_uid,
    given."check" as check_name,
    cast(round(given.stale_after_s * 1000) as bigint) as stale_after_ms,
    ms_of(train.beat."from") as started_ms,
    ms_of(train.beat."to") as ended_ms,
    -- At least a millisecond, and at most a year, which no bound reaches: a slip must not exceed the type.
    cast(greatest(least(round(train.beat.every_s * 1000), 31536000000), 1) as bigint) as every_ms
from gathered.health_checks as given
left join lateral (select unnest(given.beats) as beat) as train on true
where coalesce(given.required, true)
