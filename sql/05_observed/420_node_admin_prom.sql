-- Cordons as Prometheus saw them, where the API server shows none at that time.
--
-- A cordon of a node of which something but Ready is bad is part of a repair; else it was planned.
--
-- grain: row

with cordons as (
    select cluster, node_uid, started_at, ended_at, ingested_at, ingested_from
    from observed.prom_node_runs
    where query = 'node_unschedulable' and value = '1' and ended_at is distinct from started_at
),

known_cordons as (
    select cluster, node_uid, "from", "to" from observed.node_admin_kube where kind = 'cordon'
    union all
    select cluster, node_uid, "from", "to" from raw.node_admin where kind = 'cordon'
),

news as (
    select cordons.*
    from cordons
    where
        not exists (
            select 1
            from known_cordons as known
            where
                cordons.cluster = known.cluster
                and cordons.node_uid = known.node_uid
                and known."from" < coalesce(cordons.ended_at, 'infinity')
                and coalesce(known."to", 'infinity') > cordons.started_at
        )
),

sampled_sick as (
    select distinct news.cluster, news.node_uid, news.started_at
    from news
    inner join observed.node_conditions_prom as condition
        on
            news.cluster = condition.cluster
            and news.node_uid = condition.node_uid
            and condition.gpu is null
            and condition.type <> 'Ready'
            and is_bad_condition(condition.type, condition.status)
            and condition."from" <= news.started_at
            and coalesce(condition."to", 'infinity') > news.started_at
),

turns as (
    select
        news.cluster,
        news.node_uid,
        news.started_at,
        turn.type,
        arg_max(turn.status, turn.t) as status
    from news
    inner join observed.node_condition_events_kube as turn
        on
            news.cluster = turn.cluster
            and news.node_uid = turn.node_uid
            and turn.type <> 'Ready'
            and turn.t <= news.started_at
    group by news.cluster, news.node_uid, news.started_at, turn.type
),

sick as (
    select * from sampled_sick
    union
    select cluster, node_uid, started_at from turns where is_bad_condition(type, status)
)

select
    news.cluster,
    news.node_uid,
    'cordon' as kind,
    sick.node_uid is null as planned,
    news.started_at as "from",
    news.ended_at as "to",
    news.ingested_at,
    news.ingested_from
from news
left join sick using (cluster, node_uid, started_at)
