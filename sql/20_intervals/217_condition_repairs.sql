-- Bad conditions, each with the repair during which it
-- began, if any: then it is a consequence [1.6].
--
-- grain: row

select
    condition.cluster,
    condition.node_uid,
    condition.gpu,
    condition.type,
    condition.status,
    condition.reason,
    condition.class,
    condition.role,
    condition.strength,
    condition.is_blocking,
    condition.is_degrading,
    ms_of(condition.started_at) as started_ms,
    end_ms(condition.ended_at) as ended_ms,
    repair.node_uid is not null as is_in_repair,
    coalesce(
        repair.class,
        case when repair.is_planned then 'plat.maint' else 'plat.repair' end
    ) as repair_class,
    case
        when repair.node_uid is not null
            then root_of(condition.node_uid, null, 'admin', 'repair', ms_of(repair.started_at))
        else
            root_of(
                condition.node_uid,
                condition.gpu,
                'condition',
                condition.type,
                ms_of(condition.started_at)
            )
    end as root
from staged.node_conditions as condition
left join lateral (
    select admin.node_uid, admin.class, admin.is_planned, admin.started_at
    from staged.node_admin as admin
    where
        admin.kind = 'repair'
        and admin.cluster = condition.cluster
        and admin.node_uid = condition.node_uid
        and admin.started_at <= condition.started_at
        and (admin.ended_at is null or condition.started_at < admin.ended_at)
    order by admin.started_at, admin.ended_at nulls last, admin.action
    limit 1
) as repair on true
