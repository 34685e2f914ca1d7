-- Conditions that are bad, each with its class, role and strength [1.6].
--
-- A negative type that reads Unknown could not tell: it fails
-- closed with cause unk.stale and explains nothing else.
--
-- grain: row

select
    bad.cluster,
    bad.node_uid,
    bad.gpu,
    bad.type,
    bad.status,
    bad.reason,
    bad.started_at,
    bad.ended_at,
    case
        when bad.is_undecided then 'unk.stale'
        else coalesce(
            known_class(bad.class),
            rule.class,
            case when is_positive_condition(bad.type) then 'host.lost' else 'unk.none' end
        )
    end as class,
    case when bad.is_undecided then 'info' else coalesce(rule.role, 'either') end as role,
    case when bad.is_undecided then 0 else coalesce(rule.strength, 1) end as strength,
    case
        when bad.is_undecided then coalesce(bad.blocking, any_reason.is_blocking, true)
        else coalesce(bad.blocking, rule.is_blocking, true)
    end as is_blocking,
    case
        when bad.is_undecided then false
        else coalesce(bad.degrade, rule.is_degrading, false)
    end as is_degrading
from (
    select *, status = 'Unknown' and not is_positive_condition(type) as is_undecided
    from staged.condition_intervals
) as bad
left join staged.reason_rules as rule
    on
        rule.scope = 'node_condition'
        and bad.type = rule.type
        and bad.status = rule.status
        and bad.reason = rule.reason
left join staged.reason_rules as any_reason
    on
        any_reason.scope = 'node_condition'
        and bad.type = any_reason.type
        and any_reason.status = 'True'
        and any_reason.reason = '*'
