-- Cordons, drains and repairs that were known to have begun.
--
-- grain: row

select distinct
    cluster,
    node_uid,
    kind,
    coalesce(action, case when kind = 'repair' then 'diag' end) as action,
    coalesce(planned, false) as is_planned,
    known_class(class) as class,
    "from" as started_at,
    known("to") as ended_at
from gathered.node_admin
where "from" <= getvariable('as_of')
