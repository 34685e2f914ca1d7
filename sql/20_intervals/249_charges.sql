-- Every state and cause that held time can be charged with, each with a number for the tables of
-- pieces; the numbers hold for one build only.
--
-- grain: charge_id

with charges as (
    select state, cause, cause_job, cause_attempt
    from intervals.attempt_timeline

    union

    select 'A.startup', carry_cause, carry_job, carry_attempt
    from intervals.attempt_verdicts

    union

    select 'A.gang_wait', carry_cause, carry_job, carry_attempt
    from intervals.attempt_verdicts

    union

    select zero_state, own_cause, job, attempt
    from intervals.attempt_verdicts
    where is_zero

    union

    select
        'A.teardown',
        coalesce(own_cause, 'base.overhead'),
        case when own_cause is not null then job end,
        case when own_cause is not null then attempt end
    from intervals.attempt_verdicts

    union

    select state, cause, null, null
    from (
        values
        ('I.reserved', 'plat.sched'),
        ('A.other', null),
        ('A.standby', 'base.overhead'),
        ('A.unknown', 'unk.none'),
        ('A.unknown', 'unk.obs_gap'),
        ('A.unknown', null)
    ) as fixed (state, cause)
)

select
    row_number() over (order by state, cause, cause_job, cause_attempt) as charge_id,
    *
from charges
