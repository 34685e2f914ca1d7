-- Spans in which a required check was silent for longer than its bound: fail closed [1.6].
--
-- Fresh is from each beat until the bound after it, and from first Ready; stale is all else. Beats
-- farther apart than the bound leave a stale span after each of them: these are told one by one from
-- the last beat before the window to the first one after it. What such a train says of other times
-- is left out, since it may have a beat a second for years.
--
-- grain: row
-- nothing without: staged.health_check_beats

with checks as (
    select
        beat.cluster,
        beat.node_uid,
        beat.check_name,
        min(beat.stale_after_ms) as stale_after_ms,
        any_value(ms_of(node.ready_at)) as ready_ms
    from staged.health_check_beats as beat
    inner join staged.nodes as node using (cluster, node_uid)
    where node.ready_at is not null
    group by beat.cluster, beat.node_uid, beat.check_name
),

trains as (
    select
        beat.cluster,
        beat.node_uid,
        beat.check_name,
        checks.stale_after_ms,
        beat.started_ms,
        beat.every_ms,
        (least(beat.ended_ms, getvariable('as_of_ms')) - beat.started_ms) // beat.every_ms
            as last_beat
    from staged.health_check_beats as beat
    inner join checks using (cluster, node_uid, check_name)
    where beat.started_ms <= least(beat.ended_ms, getvariable('as_of_ms'))
),

-- Beats have numbers; those from `near_from` to `near_to` are the ones around the window.
numbered as (
    select
        *,
        case
            when every_ms <= stale_after_ms then last_beat
            else
                least(
                    greatest(getvariable('window_start_ms') - started_ms, 0) // every_ms,
                    last_beat
                )
        end as near_from,
        least(
            greatest(getvariable('window_end_ms') - started_ms + every_ms, 0) // every_ms, last_beat
        ) as near_to
    from trains
),

fresh as (
    select
        cluster,
        node_uid,
        check_name,
        ready_ms as started_ms,
        ready_ms + stale_after_ms as ended_ms
    from checks

    union all

    -- Beats closer than the bound keep the check fresh all along.
    select
        cluster,
        node_uid,
        check_name,
        started_ms,
        started_ms + near_from * every_ms + stale_after_ms
    from numbered

    union all

    select cluster, node_uid, check_name, beat_ms, beat_ms + stale_after_ms
    from (
        select
            cluster,
            node_uid,
            check_name,
            stale_after_ms,
            started_ms + unnest(range(near_from + 1, near_to + 1)) * every_ms as beat_ms
        from numbered
        where near_from < near_to
    )

    union all

    select
        cluster,
        node_uid,
        check_name,
        started_ms + near_to * every_ms,
        started_ms + last_beat * every_ms + stale_after_ms
    from numbered
    where near_from <= near_to and near_to < last_beat
),

covered as (
    select
        *,
        max(ended_ms) over (
            partition by cluster, node_uid, check_name order by started_ms, ended_ms
        ) as fresh_until_ms
    from fresh
),

gaps as (
    select
        cluster,
        node_uid,
        check_name,
        fresh_until_ms as started_ms,
        lead(started_ms, 1, getvariable('forever_ms')) over (
            partition by cluster, node_uid, check_name order by started_ms, ended_ms
        ) as ended_ms
    from covered
)

select
    gaps.cluster,
    gaps.node_uid,
    gaps.check_name,
    greatest(gaps.started_ms, checks.ready_ms) as started_ms,
    gaps.ended_ms
from gaps
inner join checks using (cluster, node_uid, check_name)
where gaps.ended_ms > greatest(gaps.started_ms, checks.ready_ms)
