-- What the allocated time was made of and how well it was seen: the provisional part of the
-- productive time (STANDARD 2.7), training time per grade of evidence (0.7: E3 step records, E2
-- phases, E1 pod phases, E0 no attempt known), and GPU-hours in hangs, restart loops, failed
-- starts, slow steps and checkpoint stalls. Shares have GPU-seconds underneath.
--
-- grain: cluster, metric, scope, scope_value

with scoped as (
    select cluster, 'fleet' as scope, '' as scope_value, state, is_productive, unit_ms
    from rollups.gpu_time
    union all
    select cluster, 'pool' as scope, pool as scope_value, state, is_productive, unit_ms
    from rollups.gpu_time
    where pool is not null
    union all
    select cluster, 'team' as scope, team as scope_value, state, is_productive, unit_ms
    from rollups.gpu_time
    where team is not null
    union all
    select cluster, 'job' as scope, job as scope_value, state, is_productive, unit_ms
    from rollups.gpu_time
    where job is not null and cluster <> '*' and state <> 'A.other'
),

named_states (metric, state) as (
    values
    ('hang_gpu_hours', 'A.hang'),
    ('restart_loop_gpu_hours', 'A.restart_loop'),
    ('failed_start_gpu_hours', 'A.lost.failed_start'),
    ('slow_gpu_hours', 'A.slow'),
    ('checkpoint_gpu_hours', 'A.ckpt_save')
),

hours as (
    select
        named_states.metric,
        scoped.cluster,
        scoped.scope,
        scoped.scope_value,
        sum(case when scoped.state = named_states.state then scoped.unit_ms else 0 end) as unit_ms
    from scoped
    cross join named_states
    group by all
),

grades as (
    select
        gpu_time.cluster,
        coalesce(attempts.grade, 'E0') as grade,
        sum(gpu_time.unit_ms) as unit_ms
    from rollups.gpu_time as gpu_time
    left join rollups.attempts as attempts
        -- One attempt is one attempt, also in the sum over all clusters.
        on
            gpu_time.member = attempts.cluster
            and gpu_time.job = attempts.job
            and gpu_time.attempt = attempts.attempt
    where gpu_time.is_allocated and gpu_time.state <> 'A.other'
    group by all
),

shares as (
    select
        'evidence_grade_share' as metric,
        cluster,
        'grade' as scope,
        grade as scope_value,
        unit_ms as part,
        sum(unit_ms) over (partition by cluster) as whole
    from grades
    union all
    select
        'provisional_share' as metric,
        cluster,
        scope,
        scope_value,
        sum(case when state = 'A.productive.provisional' then unit_ms else 0 end) as part,
        sum(case when is_productive then unit_ms else 0 end) as whole
    from scoped
    group by all
)

select
    metric,
    scope,
    scope_value,
    cast(unit_ms as double) / 18144000000 as value,
    cast(null as double) as low,
    cast(null as double) as high,
    cast(null as double) as numerator,
    cast(null as double) as denominator,
    cast(null as bigint) as event_count,
    'GPU-hours' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from hours
union all
select
    metric,
    scope,
    scope_value,
    cast(part as double) / nullif(cast(whole as double), 0) as value,
    cast(null as double) as low,
    cast(null as double) as high,
    cast(part as double) / 5040000 as numerator,
    cast(whole as double) / 5040000 as denominator,
    cast(null as bigint) as event_count,
    'ratio' as unit,
    getvariable('window_start') as window_start,
    getvariable('window_end') as window_end,
    cluster
from shares
