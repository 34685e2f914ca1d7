-- The error budget of job success (STANDARD 6): how many of the jobs that ended the objective allows to
-- fail, and how much of that was burnt, by the class of the last bad end too. Above one the objective is
-- missed.
--
-- grain: cluster, metric, scope, scope_value

with jobs as (
    select
        clusters.cluster,
        jobs.is_failure,
        coalesce(jobs.class, 'unk.none') as class
    from rollups.ended_jobs as jobs
    inner join rollups.clusters as clusters on jobs.cluster = clusters.member
    where jobs.is_success or jobs.is_failure
),

budgets as (
    select
        jobs.cluster,
        -- Decimal, so that 99.5 % leaves exactly 0.5 %.
        cast(1 - cast(objectives.objective as decimal(9, 8)) as double) * count(*) as allowed
    from jobs
    cross join catalog.objectives as objectives
    where objectives.metric = 'job_success'
    group by jobs.cluster, objectives.objective
),

burnt as (
    select cluster, 'fleet' as scope, '' as scope_value, count(*) filter (where is_failure) as n
    from jobs
    group by cluster
    union all
    select cluster, 'class', class, count(*)
    from jobs
    where is_failure
    group by cluster, class
),

figures as (
    select
        'success_budget_jobs' as metric,
        cluster,
        'fleet' as scope,
        '' as scope_value,
        allowed as value,
        'jobs' as unit
    from budgets
    union all by name
    select
        'success_budget_burnt' as metric,
        burnt.cluster,
        burnt.scope,
        burnt.scope_value,
        burnt.n / nullif(budgets.allowed, 0) as value,
        burnt.n as numerator,
        budgets.allowed as denominator,
        burnt.n as event_count,
        'ratio' as unit
    from burnt
    inner join budgets on burnt.cluster = budgets.cluster
)

select * from metric_rows(figures)
