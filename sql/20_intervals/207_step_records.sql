-- Step records in order, each once, clamped into their attempt [0.3, 0.4].
--
-- Sorted once; every later table leans on that order, so that no window has to sort the steps
-- again, and a check proves it. A record without a start begins where the one before it ended. Times are
-- clamped before they are sorted: every column that need not be carried through the sort shows.
-- Kept narrow, since there are millions: step_sequence shows the records in full. Made a range of
-- attempts at a time where steps are many; without the range it is the whole.
--
-- grain: row
-- sharded by: attempt_id
-- stored as runs: attempt_id, more_count, setting_id
-- stored as numbers: last, ended_ms

with settled as (
    select *, 0 as setting_id
    from staged.given_steps
    where world is null and config is null

    union all

    select step.*, coalesce(setting.setting_id, 0)
    from staged.given_steps as step
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    left join intervals.step_settings as setting
        on
            coalesce(step.world, attempt.world, -1) = setting.world
            and coalesce(step.config, attempt.config, '') = setting.config
            and not (
                coalesce(attempt.world, -1) = setting.world
                and coalesce(attempt.config, '') = setting.config
            )
    where step.world is not null or step.config is not null
),

timed as (
    select
        attempt.attempt_id,
        step.first,
        step.last,
        case
            when step.started_at is not null
                then greatest(attempt.started_ms, ms_of(step.started_at))
        end as started_ms,
        greatest(
            attempt.started_ms,
            least(
                ms_of(step.ended_at), coalesce(attempt.ended_ms, getvariable('forever_ms'))
            )
        ) as ended_ms,
        step.setting_id
    from settled as step
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    where
        in_shard(attempt.attempt_id)
        -- Tells the scan which row groups it can skip.
        and (
            getvariable('shard_first_job') is null
            or step.job between getvariable('shard_first_job') and getvariable('shard_last_job')
        )
    -- Of copies the one that names its setting is kept.
    order by
        attempt.attempt_id, ended_ms, step.last, step.first, started_ms, step.setting_id desc
),

followed as (
    select
        *,
        lag(attempt_id) over () = attempt_id as is_follower,
        lag(ended_ms) over () as prev_ended_ms,
        lag(started_ms) over () as prev_started_ms,
        lag(first) over () as prev_first,
        lag(last) over () as prev_last
    from timed
),

placed as (
    select
        attempt_id,
        first,
        last,
        coalesce(started_ms, case when is_follower then prev_ended_ms end, ended_ms) as started_ms,
        ended_ms,
        setting_id
    from followed
    -- What was reported twice stands next to its copy.
    where
        not coalesce(
            is_follower
            and ended_ms = prev_ended_ms
            and started_ms is not distinct from prev_started_ms
            and first = prev_first
            and last = prev_last,
            false
        )
)

select
    attempt_id,
    last,
    last - first as more_count,
    ended_ms,
    ended_ms - started_ms as duration_ms,
    setting_id
from placed
where ended_ms > started_ms
