-- What the allocated time was made of and how well it was seen: the provisional part of the
-- productive time (STANDARD 2.7), training time per grade of evidence (0.7: E3 step records, E2
-- phases, E1 pod phases, E0 no attempt known), and GPU-hours in hangs, restart loops, failed
-- starts, slow steps and checkpoint stalls. Shares have GPU-seconds underneath.
--
-- grain: cluster, metric, scope, scope_value

with cells as (
    select
        cluster,
        unnest([
            {'scope': 'fleet', 'scope_value': ''},
            {'scope': 'pool', 'scope_value': pool},
            {'scope': 'team', 'scope_value': team},
            {
                'scope': 'job',
                'scope_value': case when cluster <> '*' and state <> 'A.other' then job end
            }
        ], recursive := true),
        state,
        is_productive,
        unit_ms
    from rollups.gpu_time
),

scoped as (
    select cluster, scope, scope_value, state, is_productive, sum(unit_ms) as unit_ms
    from cells
    group by all
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
    where scoped.scope_value is not null
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
    where scope_value is not null
    group by all
),

figures as (
    select metric, cluster, scope, scope_value, gpu_hours(unit_ms) as value, 'GPU-hours' as unit
    from hours
    union all by name
    select
        metric,
        cluster,
        scope,
        scope_value,
        ratio(part, whole) as value,
        gpu_seconds(part) as numerator,
        gpu_seconds(whole) as denominator,
        'ratio' as unit
    from shares
)

select * from metric_rows(figures)
