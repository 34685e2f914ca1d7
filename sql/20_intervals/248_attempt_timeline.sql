-- What each attempt was doing from gang ready to its end:
-- disjoint, without gaps, one state and cause each.
--
-- What an open attempt did after somebody looked at its log last, nobody knows: unk.obs_gap [0.3, 2.6].
-- An attempt that ended without a word of how left its last step to unk.none [1.8].
--
-- grain: cluster, job, attempt, started_ms

-- What a slow record may still take before it is beyond the baseline. Slow records are few.
with budgets as (
    select
        attempt_id,
        started_ms,
        slow_position_count * baseline_ms - cast(coalesce(
            sum(ended_ms - started_ms) over (
                partition by attempt_id, slow_order
                order by started_ms
                rows between unbounded preceding and 1 preceding
            ),
            0
        ) as bigint) as budget_left_ms
    from intervals.attempt_segments
    where baseline_ms is not null and is_step and phase_kind is null
),

placed as (
    select
        segment.*,
        attempt.cluster,
        attempt.job,
        attempt.attempt,
        attempt.ended_ms as attempt_ended_ms,
        attempt.known_end_ms,
        attempt.outcome,
        attempt.attempt_order = attempt.lineage_length
        and attempt.job_state in ('failed', 'cancelled') as is_final,
        gang.ready_ms,
        pace.first_started_ms,
        pace.hang_ms,
        verdict.carry_cause,
        verdict.carry_job,
        verdict.carry_attempt,
        coalesce(verdict.own_cause, 'unk.none') as own_cause,
        coalesce(segment.state like 'A.lost.%', false) as is_lost,
        segment.ended_ms >= attempt.known_end_ms as is_tail,
        case
            when segment.state in ('A.productive.committed', 'A.productive.provisional')
                and budgets.budget_left_ms is not null
                then segment.started_ms + budgets.budget_left_ms
            when segment.ended_ms >= attempt.known_end_ms
                and not segment.is_step
                and segment.phase_kind is null
                then attempt.looked_ms
        end as split_ms
    from intervals.attempt_segments as segment
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    inner join intervals.gangs as gang using (cluster, job, attempt)
    inner join intervals.attempt_pace as pace using (attempt_id)
    inner join intervals.attempt_verdicts as verdict using (cluster, job, attempt)
    left join budgets
        on segment.attempt_id = budgets.attempt_id and segment.started_ms = budgets.started_ms
),

-- The last part of a slow record, beyond the baseline, is A.slow [3.1]; that of a silence, beyond the last
-- look, is unknown.
split as (
    select
        * replace (
            case when is_beyond then greatest(started_ms, split_ms) else started_ms end
                as started_ms,
            case when is_beyond then ended_ms else least(ended_ms, split_ms) end as ended_ms
        )
    from (
        select placed.*, part.is_beyond
        from placed
        cross join (values (false), (true)) as part (is_beyond)
        where not part.is_beyond or placed.split_ms < placed.ended_ms
    )
),

clipped as (
    select
        * replace (
            greatest(started_ms, ready_ms) as started_ms,
            least(ended_ms, known_end_ms) as ended_ms
        )
    from split
    where
        ready_ms is not null
        and least(ended_ms, known_end_ms) > greatest(started_ms, ready_ms)
),

judged as (
    select
        *,
        case
            when is_step and phase_kind is null and is_beyond
                then {'state': 'A.slow', 'cause': slow_class, 'payer': null}
            when is_beyond then {'state': 'A.unknown', 'cause': 'unk.obs_gap', 'payer': null}
            when is_step and phase_kind is null
                then {'state': state, 'cause': cause, 'payer': 'step'}
            when phase_kind = 'stall'
                then {
                    'state': 'A.hang',
                    'cause': coalesce(phase_class, 'unk.none'),
                    'payer': null
                }
            when phase_kind is not null and is_lost and phase_kind <> 'restore'
                then {'state': state, 'cause': cause, 'payer': 'step'}
            when phase_kind in ('init', 'compile', 'restore')
                then {
                    'state': case when phase_kind = 'restore' then 'A.restore' else 'A.init' end,
                    'cause': coalesce(phase_class, carry_cause),
                    'payer': case when phase_class is null then 'carry' end
                }
            when phase_kind is not null
                then {
                    'state': 'A.' || phase_kind,
                    'cause': coalesce(phase_class, 'base.overhead'),
                    'payer': null
                }
            when first_started_ms is null or started_ms < first_started_ms
                then {'state': 'A.init', 'cause': carry_cause, 'payer': 'carry'}
            when is_tail
                then case
                    when attempt_ended_ms is null and ended_ms - started_ms >= hang_ms
                        then {'state': 'A.hang', 'cause': 'unk.none', 'payer': null}
                    when attempt_ended_ms is null
                        then {'state': 'A.unknown', 'cause': null, 'payer': null}
                    when outcome = 'succeeded' and ended_ms - started_ms >= hang_ms
                        then {'state': 'A.unknown', 'cause': null, 'payer': null}
                    when outcome = 'succeeded'
                        then {'state': 'A.overhead', 'cause': 'base.overhead', 'payer': null}
                    when ended_ms - started_ms >= hang_ms
                        then {'state': 'A.hang', 'cause': own_cause, 'payer': 'own'}
                    when is_final
                        then {'state': 'A.lost.abandoned', 'cause': own_cause, 'payer': 'own'}
                    when own_cause = 'user.rollback'
                        then {'state': 'A.lost.rollback', 'cause': own_cause, 'payer': 'own'}
                    else {'state': 'A.lost.recompute', 'cause': own_cause, 'payer': 'own'}
                end
            when ended_ms - started_ms >= hang_ms
                then {'state': 'A.hang', 'cause': 'unk.none', 'payer': null}
            when is_lost then {'state': state, 'cause': cause, 'payer': 'step'}
            else {'state': 'A.overhead', 'cause': 'base.overhead', 'payer': null}
        end as verdict
    from clipped
),

paid as (
    select
        attempt_id,
        cluster,
        job,
        attempt,
        started_ms,
        ended_ms,
        verdict.state as state,
        verdict.cause as cause,
        case verdict.payer
            when 'step' then cause_job
            when 'carry' then carry_job
            when 'own' then job
        end as cause_job,
        case verdict.payer
            when 'step' then cause_attempt
            when 'carry' then carry_attempt
            when 'own' then attempt
        end as cause_attempt
    from judged
),

-- Neighbours of the same state and cause become one. Most stand alone; of a longer run the first and
-- the last tell all.
marked as (
    select
        *,
        lag(state) over in_attempt is distinct from state
        or lag(cause) over in_attempt is distinct from cause
        or lag(cause_job) over in_attempt is distinct from cause_job
        or lag(cause_attempt) over in_attempt is distinct from cause_attempt as is_first,
        lead(state) over in_attempt is distinct from state
        or lead(cause) over in_attempt is distinct from cause
        or lead(cause_job) over in_attempt is distinct from cause_job
        or lead(cause_attempt) over in_attempt is distinct from cause_attempt as is_last
    from paid
    window in_attempt as (partition by attempt_id order by started_ms)
),

runs as (
    select * exclude (is_first, is_last)
    from marked
    where is_first and is_last

    union all

    select * exclude (is_first, is_last, last_ended_ms) replace (last_ended_ms as ended_ms)
    from (
        select *, lead(ended_ms) over (partition by attempt_id order by started_ms) as last_ended_ms
        from marked
        where is_first <> is_last
    )
    where is_first
)

select cluster, job, attempt, started_ms, ended_ms, state, cause, cause_job, cause_attempt
from runs
