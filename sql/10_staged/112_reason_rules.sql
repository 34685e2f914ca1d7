-- What each Kubernetes reason seen in the data means: class, role, strength, blocking, degrading.
--
-- One row per distinct (scope, type, status, reason) that occurs; an exact reason beats '*', then
-- the order of catalog/k8s_reasons.csv decides. A reason that carries an XID takes the XID's class.
--
-- grain: scope, type, status, reason

with pods as (
    select distinct reason, disruption from gathered.pods
),

evidence as (
    select distinct source, type, value, reason
    from gathered.evidence
    where source = 'exit' or source in (select scope from catalog.k8s_reasons)
),

asked as (
    select 'node_condition' as scope, type, status, reason from staged.condition_intervals
    union
    select 'node_condition', type, 'True', '*' from staged.condition_intervals
    union
    select 'pod_terminated_reason', null, null, reason
    from pods
    where reason is not null
    union
    select 'pod_terminated_reason', null, null, reason
    from gathered.pod_events
    where reason is not null
    union
    select 'pod_terminated_reason', null, null, reason
    from evidence
    where source = 'exit' and reason is not null
    union
    select 'pod_disruption_target', null, null, disruption
    from pods
    where disruption is not null
    union
    select source, type, null, value
    from evidence
    where source in (select scope from catalog.k8s_reasons)
),

patterns as (
    select
        *,
        '^' || replace(reason, '%d', '(\d+)') || '$' as pattern,
        reason like '%\%d%' escape '\' as is_pattern
    from catalog.k8s_reasons
),

matched as (
    select
        asked.scope,
        asked.type,
        asked.status,
        asked.reason,
        rule.class,
        rule.role,
        rule.strength,
        rule.blocking,
        rule.degrade,
        case
            when rule.class = 'xid.csv'
                then cast(regexp_extract(asked.reason, rule.pattern, 1) as integer)
        end as xid
    from asked
    inner join patterns as rule
        on
            asked.scope = rule.scope
            and (asked.type is null or rule.type in ('*', asked.type))
            and (asked.status is null or rule.bad_status in ('-', asked.status))
            and (
                rule.reason in (asked.reason, '*')
                or (rule.is_pattern and regexp_matches(asked.reason, rule.pattern))
            )
    qualify row_number() over (
        partition by asked.scope, asked.type, asked.status, asked.reason
        order by
            case when rule.reason = '*' and asked.reason <> '*' then 1 else 0 end,
            rule.catalog_order
    ) = 1
)

select
    matched.scope,
    matched.type,
    matched.status,
    matched.reason,
    case
        when matched.class = 'xid.csv' then coalesce(xid.class, 'unk.none')
        else matched.class
    end as class,
    case
        when matched.class = 'xid.csv' and matched.role = 'root' then coalesce(xid.role, 'info')
        else matched.role
    end as role,
    case
        when matched.class = 'xid.csv' and matched.role = 'root' then coalesce(xid.strength, 0)
        else matched.strength
    end as strength,
    matched.blocking = 1 as is_blocking,
    matched.degrade = 1 as is_degrading
from matched
left join catalog.xid as xid on matched.xid = xid.xid
