-- Everything observed that may explain the end of an interrupted attempt [4.2, 4.3].
--
-- Evidence concerns a pod, node or device of the attempt, or the attempt
-- itself, and lies in its window. What is seen only after the end is one
-- weaker. is_old marks a condition older than attempt or window.
--
-- grain: row

-- Numbered, since the long key would go through many joins.
with onsets as (
    select rowid as onset_id, *
    from intervals.attempt_onsets
),

members as (
    select
        onset.onset_id,
        pod.cluster,
        pod.pod_uid,
        pod.node_uid,
        pod.rank,
        pod.exit_code,
        pod.reason,
        pod.disruption,
        pod.terminated_at
    from onsets as onset
    inner join staged.pods as pod using (cluster, job, attempt)
),

on_pods as (
    select pod.onset_id, evidence.*
    from members as pod
    inner join intervals.signals as evidence
        on pod.cluster = evidence.cluster and pod.pod_uid = evidence.pod_uid
),

-- Devices of which something was observed that is not of the whole node; they are few.
observed_devices as (
    select cluster, node_uid, gpu from intervals.signals where gpu is not null
    union
    select cluster, node_uid, gpu from intervals.condition_repairs where gpu is not null
),

-- The nodes that an attempt holds, as rows without a device, and its devices.
attempt_places as (
    select onset_id, cluster, node_uid, cast(null as integer) as gpu
    from members

    union

    select pod.onset_id, pod.cluster, pod.node_uid, device.gpu
    from members as pod
    inner join intervals.pod_devices as held using (cluster, pod_uid)
    inner join observed_devices as device
        on pod.cluster = device.cluster and pod.node_uid = device.node_uid
    where list_contains(held.devices, device.gpu)
),

-- By the day, so that long histories of a node do not meet each other. Conditions that last longer
-- than two days are few: theirs is the day -1.
place_days as (
    select
        place.*,
        onset.from_ms,
        onset.to_ms,
        unnest(
            list_append(range(onset.from_ms // 86400000, onset.to_ms // 86400000 + 1), -1)
        ) as day
    from attempt_places as place
    inner join onsets as onset using (onset_id)
),

condition_days as (
    select
        *,
        unnest(
            case
                when ended_ms - started_ms > 2 * 86400000 then [-1]
                else range(started_ms // 86400000, ended_ms // 86400000 + 1)
            end
        ) as day
    from intervals.condition_repairs
),

on_nodes as (
    select place.onset_id, evidence.*
    from place_days as place
    inner join intervals.signals as evidence
        on
            place.cluster = evidence.cluster
            and place.node_uid = evidence.node_uid
            and place.gpu is not distinct from evidence.gpu
            and place.day = ms_of(evidence.observed_at) // 86400000
            and ms_of(evidence.observed_at) between place.from_ms and place.to_ms
    where evidence.pod_uid is null
),

on_attempts as (
    select onset.onset_id, evidence.*
    from onsets as onset
    inner join intervals.signals as evidence using (cluster, job, attempt)
    where evidence.pod_uid is null and evidence.node_uid is null
),

signals as (
    select * from on_pods
    union all by name
    select * from on_nodes
    union all by name
    select * from on_attempts
),

from_signals as (
    select
        onset.onset_id,
        ms_of(signal.observed_at) as observed_ms,
        signal.class,
        signal.role,
        signal.strength,
        signal.source,
        coalesce(signal.node_uid, pod.node_uid) as node_uid,
        signal.pod_uid,
        signal.rank,
        signal.value,
        signal.xid is not null as is_xid,
        case
            when signal.pod_uid is null
                then root_of(
                    signal.node_uid,
                    signal.gpu,
                    signal.source,
                    signal.value,
                    ms_of(signal.observed_at)
                )
        end as root,
        signal.signature,
        signal.origin,
        signal.origin_line
    from signals as signal
    inner join onsets as onset using (onset_id)
    left join staged.pods as pod on signal.cluster = pod.cluster and signal.pod_uid = pod.pod_uid
    where
        signal.source <> 'slow_rank'
        and ms_of(signal.observed_at) >= onset.from_ms
        and ms_of(signal.observed_at) <= least(onset.to_ms, onset.next_started_ms)
        and ms_of(signal.observed_at) > onset.prev_ended_ms
        -- Older than the attempt, and the node was put right in between: void.
        and not (
            signal.pod_uid is null
            and signal.node_uid is not null
            and ms_of(signal.observed_at) < onset.started_ms
            and exists (
                select 1
                from intervals.fixes as fix
                where
                    fix.cluster = signal.cluster
                    and fix.node_uid = signal.node_uid
                    and fix.fixed_ms > ms_of(signal.observed_at)
                    and fix.fixed_ms <= onset.started_ms
            )
        )
),

from_conditions as (
    select
        onset.onset_id,
        condition.is_in_repair
        or condition.started_ms >= greatest(onset.from_ms, onset.started_ms) as is_fresh,
        case when is_fresh then condition.started_ms else onset.ended_ms end as observed_ms,
        case
            when condition.is_in_repair then condition.repair_class
            else condition.class
        end as class,
        case when condition.is_in_repair then 'root' else condition.role end as role,
        case
            when condition.is_in_repair then 3
            when is_fresh then condition.strength
            else least(condition.strength, 2)
        end as strength,
        'condition' as source,
        condition.node_uid,
        condition.type || '=' || condition.status
        || coalesce(' ' || nullif(condition.reason, ''), '') as value,
        condition.root,
        not is_fresh as is_old
    from onsets as onset
    inner join place_days as place using (onset_id)
    inner join condition_days as condition
        on
            place.cluster = condition.cluster
            and place.node_uid = condition.node_uid
            and place.gpu is not distinct from condition.gpu
            and place.day = condition.day
    where
        condition.started_ms <= onset.to_ms
        and condition.ended_ms > greatest(onset.from_ms, onset.started_ms)
        -- Of the days on which both are, the first.
        and condition.day in (-1, greatest(condition.started_ms, onset.from_ms) // 86400000)
),

from_exits as (
    select
        onset.onset_id,
        ms_of(pod.terminated_at) as observed_ms,
        case
            when ended.strength > 0 then ended.class
            else coalesce(exits.class, 'unk.none')
        end as class,
        case
            when ended.strength > 0 then ended.role
            else coalesce(exits.role, 'either')
        end as role,
        case
            when ended.strength > 0 then ended.strength
            else coalesce(exits.strength, 0)
        end as strength,
        'exit' as source,
        pod.node_uid,
        pod.pod_uid,
        pod.rank,
        concat_ws(' ', 'exit code ' || pod.exit_code, pod.reason) as value
    from onsets as onset
    inner join members as pod using (onset_id)
    left join staged.exit_rules as exits using (exit_code)
    left join staged.reason_rules as ended
        on ended.scope = 'pod_terminated_reason' and pod.reason = ended.reason
    where
        ms_of(pod.terminated_at) between onset.from_ms and onset.to_ms
        and (pod.exit_code is not null or pod.reason is not null)
),

from_disruptions as (
    select
        onset.onset_id,
        coalesce(ms_of(pod.terminated_at), onset.ended_ms) as observed_ms,
        rule.class,
        rule.role,
        rule.strength,
        'disruption' as source,
        pod.node_uid,
        pod.pod_uid,
        pod.disruption as value
    from onsets as onset
    inner join members as pod using (onset_id)
    inner join staged.reason_rules as rule
        on rule.scope = 'pod_disruption_target' and pod.disruption = rule.reason
),

everything as (
    select * from from_signals
    union all by name
    select * exclude (is_fresh) from from_conditions
    union all by name
    select * from from_exits
    union all by name
    select * from from_disruptions
)

select
    onset.cluster,
    onset.job,
    onset.attempt,
    everything.* exclude (onset_id) replace (
        case
            when
                everything.observed_ms > onset.ended_ms + 1000 * getvariable('skew_s')
                and everything.strength > 0
                then everything.strength - 1
            else everything.strength
        end as strength,
        coalesce(everything.is_old, false) as is_old,
        coalesce(everything.is_xid, false) as is_xid
    ),
    class.domain,
    class.precedence,
    row_number() over (
        partition by everything.onset_id
        order by
            everything.observed_ms,
            everything.source,
            everything.node_uid,
            everything.pod_uid,
            everything.value
    ) as evidence_order
from everything
inner join onsets as onset using (onset_id)
left join catalog.taxonomy as class on everything.class = class.class
