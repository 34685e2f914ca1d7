-- Points at which a lineage threw work away: a restart
-- below what was done, or a counter that went back.
--
-- cut_key places a cut among the records of its attempt: before all of them (0) or just before the
-- one of that record_key. Positions above cut_to are discarded there [2.2, 2.5].
-- is_rollback and cause say who pays [2.4].
--
-- grain: lineage_id, attempt_order, cut_key

with restarts as (
    select
        attempt.lineage_id,
        attempt.attempt_order,
        cast(0 as bigint) as cut_key,
        pace.resume_step as cut_to,
        attempt.started_ms as cut_ms,
        attempt.restart_kind = 'rollback' as is_marked_rollback,
        -- The last earlier attempt that executed steps owns
        -- the loss; failed starts in between do not.
        max(case when pace.record_count > 0 then attempt.attempt_order end)
            over earlier as owner_order
    from intervals.lineage_attempts as attempt
    inner join intervals.attempt_pace as pace using (attempt_id)
    window earlier as (
        partition by attempt.lineage_id
        order by attempt.attempt_order
        rows between unbounded preceding and 1 preceding
    )
),

caused as (
    select
        restarts.lineage_id,
        restarts.attempt_order,
        restarts.cut_key,
        restarts.cut_to,
        restarts.cut_ms,
        coalesce(attribution.class, 'base.overhead') as cause,
        case when attribution.class is not null then owner.job end as cause_job,
        case when attribution.class is not null then owner.attempt end as cause_attempt,
        coalesce(restarts.is_marked_rollback, false) or exists (
            select 1
            from intervals.lineage_attempts as between_them
            where
                between_them.lineage_id = restarts.lineage_id
                and between_them.attempt_order >= restarts.owner_order
                and between_them.attempt_order < restarts.attempt_order
                and between_them.outcome = 'rollback'
        ) as is_rollback
    from restarts
    inner join intervals.lineage_attempts as owner
        on
            restarts.lineage_id = owner.lineage_id
            and restarts.owner_order = owner.attempt_order
    left join intervals.attribution as attribution
        on
            owner.cluster = attribution.cluster
            and owner.job = attribution.job
            and owner.attempt = attribution.attempt
    where restarts.cut_to is not null
),

turned_back as (
    select
        attempt.lineage_id,
        attempt.attempt_order,
        turn.cut_key,
        turn.cut_to,
        turn.cut_ms,
        case
            when marker.kind = 'rollback' then 'user.rollback'
            else coalesce(marker.cause, 'unk.none')
        end as cause,
        cast(null as varchar) as cause_job,
        cast(null as integer) as cause_attempt,
        coalesce(marker.kind = 'rollback', false) as is_rollback
    from intervals.step_turns as turn
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    left join lateral (
        select markers.kind, markers.cause
        from staged.markers as markers
        where
            markers.cluster = attempt.cluster
            and markers.job = attempt.job
            and (markers.attempt is null or markers.attempt = attempt.attempt)
            and ms_of(markers.occurred_at) <= turn.cut_ms
        order by markers.occurred_at desc, markers.kind, markers.cause
        limit 1
    ) as marker on true
)

select * from caused

union all by name

select * from turned_back
