-- What the numbers of this window do not know, each as an amount of a whole. A whole that is null
-- means that only the amount is known.
--
-- grain: topic

with booked as (
    select
        sum(case when state = 'A.unknown' then unit_ms else 0 end) as unknown,
        sum(case when is_allocated then unit_ms else 0 end) as allocated,
        sum(case when state = 'A.productive.provisional' then unit_ms else 0 end) as provisional,
        sum(case when is_productive then unit_ms else 0 end) as productive,
        sum(case when state = 'U.stale' then unit_ms else 0 end) as stale,
        sum(case when is_lost and not is_attributed then unit_ms else 0 end) as unattributed,
        sum(case when is_lost then unit_ms else 0 end) as lost,
        sum(unit_ms) as paid
    from rollups.gpu_time
    where cluster = member
),

with_steps as (
    select distinct cluster, job
    from staged.steps
),

blind as (
    select
        count(distinct (held.cluster, held.job)) filter (where with_steps.job is null) as job_count,
        count(distinct (held.cluster, held.job)) as whole_count
    from rollups.gpu_time as held
    left join with_steps on held.cluster = with_steps.cluster and held.job = with_steps.job
    where
        held.cluster = held.member
        and held.is_allocated
        and held.state not in ('A.other', 'A.standby')
        and held.job is not null
),

running as (
    select
        count(*) filter (where state = 'running' and kind = 'training') as job_count,
        count(*) filter (where kind = 'training') as whole_count
    from report.jobs
),

gaps as (
    select
        count(*) as gap_count,
        sum(
            least(coalesce(epoch_ms(ended_at), getvariable('window_end_ms')), getvariable('window_end_ms'))
            - greatest(epoch_ms(started_at), getvariable('window_start_ms'))
        ) as gap_ms
    from staged.collector_gaps
    where
        epoch_ms(started_at) < getvariable('window_end_ms')
        and coalesce(epoch_ms(ended_at), getvariable('window_end_ms')) > getvariable('window_start_ms')
),

quarantined as (
    select sum(row_count) as row_count
    from report.quarantine
)

select 10 as position, 'unknown_time' as topic, unknown / 5040 / 3600000 as amount, allocated / 5040 / 3600000 as whole, 'GPU-hours' as unit
from booked
union all
select 20, 'unattributed_loss', unattributed / 5040 / 3600000, lost / 5040 / 3600000, 'GPU-hours'
from booked
union all
select 30, 'provisional_time', provisional / 5040 / 3600000, productive / 5040 / 3600000, 'GPU-hours'
from booked
union all
select 40, 'jobs_without_steps', job_count, whole_count, 'jobs'
from blind
union all
select 50, 'jobs_still_running', job_count, whole_count, 'jobs'
from running
union all
select 60, 'stale_checks', stale / 5040 / 3600000, paid / 5040 / 3600000, 'GPU-hours'
from booked
union all
select 70, 'collector_gaps', coalesce(gap_ms, 0) / 3600000, null, 'hours'
from gaps
union all
select 80, 'quarantined_rows', coalesce(row_count, 0), null, 'rows'
from quarantined
