-- Outages: maximal runs in which a node or device is not available, each with one cause [1.6].
--
-- Causes, first that applies: the most specific of the blocking conditions and strong XIDs whose
-- onset lies within coalesce_s of the first; the admin action's class; silence of a check; the
-- failure that a provisioning node replaces; else base.overhead.
--
-- grain: cluster, node_uid, profile, started_ms
-- nothing without: intervals.node_states

with runs as (
    select
        cluster,
        node_uid,
        profile,
        island,
        min(started_ms) as started_ms,
        max(ended_ms) as ended_ms,
        bool_or(node_state = 'stale') as has_stale,
        bool_or(node_state = 'provisioning') as has_provisioning,
        list_sort(list(distinct node_state)) as node_states
    from intervals.node_states
    group by cluster, node_uid, profile, island
),

known_runs as (
    select runs.*, least(runs.ended_ms, getvariable('as_of_ms')) as known_end_ms
    from runs
    where runs.started_ms < getvariable('as_of_ms')
),

conditions as (
    select
        run.cluster,
        run.node_uid,
        run.profile,
        run.started_ms,
        greatest(condition.started_ms, run.started_ms) as onset_ms,
        condition.class,
        condition.root
    from known_runs as run
    inner join intervals.condition_repairs as condition
        on
            run.cluster = condition.cluster
            and run.node_uid = condition.node_uid
            and (condition.gpu is null or condition.gpu = run.profile)
    where
        condition.is_blocking
        and not condition.is_in_repair
        and condition.started_ms < run.known_end_ms
        and condition.ended_ms > run.started_ms
),

xids as (
    select
        run.cluster,
        run.node_uid,
        run.profile,
        run.started_ms,
        greatest(ms_of(evidence.observed_at), run.started_ms) as onset_ms,
        evidence.class,
        root_of(
            evidence.node_uid,
            evidence.gpu,
            evidence.source,
            evidence.value,
            ms_of(evidence.observed_at)
        ) as root
    from known_runs as run
    inner join intervals.signals as evidence
        on
            run.cluster = evidence.cluster
            and run.node_uid = evidence.node_uid
            and (evidence.gpu is null or evidence.gpu = run.profile)
    where
        evidence.source = 'xid'
        and evidence.role in ('root', 'either')
        and evidence.strength >= 2
        and ms_of(evidence.observed_at) >= run.started_ms - 1000 * getvariable('attrib_before_s')
        and ms_of(evidence.observed_at) < run.known_end_ms
),

onsets as (
    select
        *,
        min(onset_ms) over (partition by cluster, node_uid, profile, started_ms) as first_onset_ms
    from (
        select * from conditions
        union all
        select * from xids
    )
),

faults as (
    select
        onsets.cluster,
        onsets.node_uid,
        onsets.profile,
        onsets.started_ms,
        arg_min(
            {'class': onsets.class, 'root': onsets.root},
            {
                'precedence': taxonomy.precedence,
                'class': onsets.class,
                'at_ms': onsets.root.at_ms,
                'root': onsets.root
            }
        ) as chosen
    from onsets
    left join catalog.taxonomy as taxonomy on onsets.class = taxonomy.class
    where onsets.onset_ms <= onsets.first_onset_ms + 1000 * getvariable('coalesce_s')
    group by onsets.cluster, onsets.node_uid, onsets.profile, onsets.started_ms
),

actions as (
    select
        run.cluster,
        run.node_uid,
        run.profile,
        run.started_ms,
        arg_min(admin.class, {'started_at': admin.started_at, 'class': admin.class})
            filter (where admin.class is not null) as given_class,
        arg_min(
            root_of(admin.node_uid, null, 'admin', admin.kind, ms_of(admin.started_at)),
            {
                'is_not_drain': admin.kind <> 'drain',
                'started_at': admin.started_at,
                'kind': admin.kind
            }
        ) as root,
        bool_or(admin.is_planned) as is_planned,
        bool_and(admin.kind in ('cordon', 'drain')) as is_only_isolation,
        arg_min(admin.action, list_position(['replace', 'reboot', 'reset', 'diag'], admin.action))
            filter (where admin.kind = 'repair') as repair_action
    from known_runs as run
    inner join staged.node_admin as admin
        on run.cluster = admin.cluster and run.node_uid = admin.node_uid
    where
        ms_of(admin.started_at) < run.known_end_ms
        and end_ms(admin.ended_at) > run.started_ms
    group by run.cluster, run.node_uid, run.profile, run.started_ms
)

select
    run.cluster,
    run.node_uid,
    run.profile,
    run.island,
    run.started_ms,
    run.ended_ms,
    run.node_states,
    coalesce(actions.is_planned, false) as is_planned,
    actions.repair_action,
    case
        when faults.chosen is not null then faults.chosen.class
        when actions.given_class is not null then actions.given_class
        when actions.is_planned or actions.is_only_isolation then 'plat.maint'
        when actions.is_only_isolation is not null then 'plat.repair'
        when run.has_stale then 'unk.stale'
        when run.has_provisioning and node.replaces_cause is not null then node.replaces_cause
        else 'base.overhead'
    end as class,
    coalesce(faults.chosen.root, actions.root) as root
from known_runs as run
inner join staged.nodes as node using (cluster, node_uid)
left join faults using (cluster, node_uid, profile, started_ms)
left join actions using (cluster, node_uid, profile, started_ms)
