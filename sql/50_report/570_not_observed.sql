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
    select distinct attempt.cluster, attempt.job
    from intervals.attempt_pace as pace
    inner join intervals.lineage_attempts as attempt using (attempt_id)
    where pace.record_count > 0
),

trained as (
    select distinct cluster, job
    from rollups.gpu_time
    where
        cluster = member
        and is_allocated
        and state not in ('A.other', 'A.standby')
        and job is not null
),

blind as (
    select
        count(*) filter (where with_steps.job is null) as job_count,
        count(*) as whole_count
    from trained as held
    left join with_steps on held.cluster = with_steps.cluster and held.job = with_steps.job
),

running as (
    select
        count(*) filter (where state = 'running' and kind = 'training') as job_count,
        count(*) filter (where kind = 'training') as whole_count
    from report.jobs
),

gaps as (
    select
        greatest(ms_of(started_at), getvariable('window_start_ms')) as started_ms,
        least(
            coalesce(ms_of(ended_at), getvariable('window_end_ms')),
            getvariable('window_end_ms')
        ) as ended_ms
    from (
        select started_at, ended_at from staged.collector_gaps
        union all
        select started_at, ended_at from report.log_gaps
    )
),

gap_time as (
    select sum(greatest(0, ended_ms - started_ms)) as gap_ms
    from gaps
),

-- What stands in the API at the first look tells nothing sure of the time before it, and after the last
-- one things are as they were then, for all that is known.
beyond_looks as (
    select
        sum(
            entry.unit_count
            * greatest(0, least(entry.ended_ms, ms_of(look.first_at)) - entry.started_ms)
        ) as before_unit_ms,
        sum(
            entry.unit_count
            * greatest(0, entry.ended_ms - greatest(entry.started_ms, ms_of(gap.started_at)))
        ) filter (where gap.started_at is not null) as after_unit_ms
    from ledger.entries as entry
    inner join ledger.device_groups as device using (group_id)
    inner join observed.cluster_looks as look on device.cluster = look.cluster
    left join staged.collector_gaps as gap
        on
            look.cluster = gap.cluster
            and look.last_at = gap.started_at
            and gap.source_name = 'kubernetes'
),

quarantined as (
    select sum(row_count) as row_count
    from report.quarantine
),

unclassified as (
    select sum(row_count) as row_count
    from report.unclassified
),

unattributed as (
    select sum(row_count) as row_count
    from report.unattributed_rows
),

homeless as (
    select count(*) as job_count
    from report.jobs_without_gpus
)

select
    10 as position,
    'unknown_time' as topic,
    unknown / 5040 / 3600000 as amount,
    allocated / 5040 / 3600000 as whole,
    'GPU-hours' as unit
from booked
union all
select 20, 'unattributed_loss', unattributed / 5040 / 3600000, lost / 5040 / 3600000, 'GPU-hours'
from booked
union all
select
    30, 'provisional_time', provisional / 5040 / 3600000, productive / 5040 / 3600000, 'GPU-hours'
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
select
    65, 'before_first_look',
    coalesce(beyond_looks.before_unit_ms, 0) / 5040 / 3600000,
    booked.paid / 5040 / 3600000,
    'GPU-hours'
from booked, beyond_looks
union all
select
    66, 'after_last_look',
    coalesce(beyond_looks.after_unit_ms, 0) / 5040 / 3600000,
    booked.paid / 5040 / 3600000,
    'GPU-hours'
from booked, beyond_looks
union all
select 70, 'collector_gaps', coalesce(gap_ms, 0) / 3600000, null, 'hours'
from gap_time
union all
select 80, 'unclassified_observations', coalesce(row_count, 0), null, 'rows'
from unclassified
union all
select 90, 'quarantined_rows', coalesce(row_count, 0), null, 'rows'
from quarantined
union all
select 95, 'unattributed_rows', row_count, null, 'rows'
from unattributed
where row_count > 0
union all
select 96, 'jobs_without_gpus', job_count, null, 'jobs'
from homeless
where job_count > 0
