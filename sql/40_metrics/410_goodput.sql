-- Goodput: productive GPU time over paid, demanded, available and allocated time, and the span that
-- unobserved time leaves open (STANDARD 1.10); goodput_committed is the part of paid time that no later
-- news can take away, productive time that a checkpoint covers (2.7). Numerators and denominators are
-- GPU-seconds; event_count is the number of jobs that held GPUs. Only allocated time belongs to a
-- namespace, a team or a job, so these have no other denominator. low and high tell how much jobs differ
-- (5.12), not what was unobserved: that is goodput_low and goodput_high.
--
-- grain: cluster, metric, scope, scope_value

with totals as (
    select
        cluster,
        member,
        pool,
        namespace,
        team,
        job,
        state <> 'A.other' as is_training,
        sum(unit_ms) as paid,
        sum(case when is_productive then unit_ms else 0 end) as productive,
        sum(case when state = 'A.productive.committed' then unit_ms else 0 end) as committed,
        sum(case when state = 'A.unknown' then unit_ms else 0 end) as unknown,
        sum(case when state in ('I.no_demand', 'A.other') then 0 else unit_ms end) as demand,
        sum(case when is_available then unit_ms else 0 end) as available,
        sum(case when is_allocated then unit_ms else 0 end) as allocated
    from rollups.gpu_time
    group by all
),

cells as (
    select
        * exclude (pool, namespace, team, job),
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'pool', 'scope_value': pool},
            {'scope': 'namespace', 'scope_value': namespace},
            {'scope': 'team', 'scope_value': team},
            -- A job's key is unique in its cluster only; a job that only serves has no goodput.
            {'scope': 'job', 'scope_value': case when cluster <> '*' and is_training then job end}
        ], recursive := true),
        case when job is not null then {'member': member, 'job': job} end as owner
    from totals
),

sums as (
    select
        cluster,
        scope,
        scope_value,
        owner,
        sum(paid) as paid,
        sum(productive) as productive,
        sum(committed) as committed,
        sum(unknown) as unknown,
        sum(demand) as demand,
        sum(available) as available,
        sum(allocated) as allocated
    from cells
    where scope_value is not null
    group by cluster, scope, scope_value, owner
),

parts as (
    select cluster, scope, scope_value, owner, 'goodput_paid' as metric, productive as part, paid as whole
    from sums
    where scope in ('fleet', 'pool')
    union all
    select cluster, scope, scope_value, owner, 'goodput_demand' as metric, productive, demand
    from sums
    where scope in ('fleet', 'pool')
    union all
    select cluster, scope, scope_value, owner, 'goodput_available' as metric, productive, available
    from sums
    where scope in ('fleet', 'pool')
    union all
    select cluster, scope, scope_value, owner, 'goodput_allocated' as metric, productive, allocated
    from sums
    union all
    select cluster, scope, scope_value, owner, 'goodput_committed' as metric, committed, paid
    from sums
    where scope in ('fleet', 'pool')
    union all
    select cluster, scope, scope_value, owner, 'goodput_low' as metric, productive, paid
    from sums
    where scope in ('fleet', 'pool')
    union all
    select cluster, scope, scope_value, owner, 'goodput_high' as metric, productive + unknown, paid
    from sums
    where scope in ('fleet', 'pool')
),

figures as (
    select
        metric,
        cluster,
        scope,
        scope_value,
        value,
        -- Bounds have no interval of their own.
        case when metric not in ('goodput_committed', 'goodput_low', 'goodput_high') then low end as low,
        case when metric not in ('goodput_committed', 'goodput_low', 'goodput_high') then high end as high,
        gpu_seconds(part) as numerator,
        gpu_seconds(whole) as denominator,
        owner_count as event_count,
        'ratio' as unit
    from jackknifed(parts)
)

select * from metric_rows(figures)
