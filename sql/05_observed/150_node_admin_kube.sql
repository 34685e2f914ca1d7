-- What was done to nodes, as far as objects and events show: cordons, drains, repairs, reboots.
--
-- A cordon runs from its taint (else its event, else the first sighting) to the first sign of its end. A node
-- that is marked for disruption or being deleted drains. A new boot id under the same Node is a reboot, from when
-- the old boot was lost until the node was Ready again. One without a cordon, or a word of the tool that did it,
-- was ordered by nobody.
--
-- grain: row

with signs as (
    select
        cluster,
        node_uid,
        coalesce(
            list_filter(taints, lambda t: t.key = 'node.kubernetes.io/unschedulable')[
                1
            ]."timeAdded",
            first_seen_at
        ) as occurred_at,
        true as is_cordoned
    from observed.node_versions
    where is_unschedulable

    union

    -- A dump is dated by its content, which may be a heartbeat or two old: the event has the time.
    select
        node.cluster,
        node.node_uid,
        coalesce(min(event.last_at), node.first_seen_at),
        false
    from observed.node_versions as node
    left join observed.event_objects as event
        on
            node.cluster = event.cluster
            and node.node_uid = event.node_uid
            and event.reason = 'NodeSchedulable'
            and event.last_at >= node.first_seen_at
            and event.last_at < node.first_seen_at + interval 10 minutes
    where not node.is_unschedulable
    group by node.cluster, node.node_uid, node.first_seen_at

    union

    select cluster, node_uid, unnest([first_at, last_at]), reason = 'NodeNotSchedulable'
    from observed.event_objects
    where reason in ('NodeNotSchedulable', 'NodeSchedulable') and node_uid is not null
),

turns as (
    select
        *,
        lag(is_cordoned)
            over (partition by cluster, node_uid order by occurred_at, is_cordoned)
            as was_cordoned
    from signs
    where occurred_at is not null
),

cordon_spans as (
    select
        cluster,
        node_uid,
        is_cordoned,
        occurred_at as started_at,
        lead(occurred_at)
            over (partition by cluster, node_uid order by occurred_at, is_cordoned)
            as ended_at
    from turns
    where is_cordoned is distinct from was_cordoned
),

cordons as (
    select cluster, node_uid, started_at, ended_at
    from cordon_spans
    where is_cordoned and ended_at is distinct from started_at
),

drain_marks as (
    select
        cluster,
        node_uid,
        first_seen_at,
        coalesce(
            list_min(list_transform(
                list_filter(
                    taints,
                    lambda t: t.key in (
                        'karpenter.sh/disrupted',
                        'karpenter.sh/disruption',
                        'ToBeDeletedByClusterAutoscaler'
                    )
                ),
                lambda t: coalesce(t."timeAdded", first_seen_at)
            )),
            deletion_at
        ) as marked_at
    from observed.node_versions
    where first_seen_at is not null and not is_deleted
),

-- A mark that is taken off again ends the drain; a later one begins another.
drain_runs as (
    select
        *,
        sum(case when marked_at is null then 1 else 0 end) over (
            partition by cluster, node_uid order by first_seen_at
        ) as unmarked_before
    from drain_marks
),

marked_drains as (
    select
        run.cluster,
        run.node_uid,
        min(run.marked_at) as started_at,
        min(after.first_seen_at) as ended_at
    from drain_runs as run
    left join drain_runs as after
        on
            run.cluster = after.cluster
            and run.node_uid = after.node_uid
            and after.marked_at is null
            and after.unmarked_before = run.unmarked_before + 1
    where run.marked_at is not null
    group by run.cluster, run.node_uid, run.unmarked_before
),

-- Evictions from a cordoned node are a drain until the last evicted pod has left.
eviction_drains as (
    select
        cordons.cluster,
        cordons.node_uid,
        min(pod.disrupted_at) as started_at,
        case
            when bool_and(coalesce(pod.terminated_at, pod.deleted_at, pod.missing_at) is not null)
                then max(least(pod.terminated_at, pod.deleted_at, pod.missing_at))
        end as ended_at
    from cordons
    inner join observed.gpu_pods as pod using (cluster, node_uid)
    where
        pod.disruption = 'EvictionByEvictionAPI'
        and pod.disrupted_at >= cordons.started_at
        and pod.disrupted_at < coalesce(cordons.ended_at, 'infinity')
    group by cordons.cluster, cordons.node_uid, cordons.started_at
),

-- Some tools write on the node which step they are at; the next look at another step ends it. NVSentinel
-- repairs; NVIDIA's MIG manager cuts GPUs anew, which for that time are not offered.
told_steps as (
    select
        cluster,
        node_uid,
        first_seen_at,
        'nvsentinel' as tool,
        case
            when labels['dgxc.nvidia.com/nvsentinel-state'] like 'drain%' then 'drain'
            when labels['dgxc.nvidia.com/nvsentinel-state'] = 'remediating' then 'repair'
        end as kind,
        cast(null as varchar) as action
    from observed.node_versions
    where first_seen_at is not null and not is_deleted

    union all

    select
        cluster,
        node_uid,
        first_seen_at,
        'mig manager',
        case when labels['nvidia.com/mig.config.state'] in ('pending', 'rebooting') then 'repair' end,
        case labels['nvidia.com/mig.config.state']
            when 'pending' then 'reset'
            when 'rebooting' then 'reboot'
        end
    from observed.node_versions
    where first_seen_at is not null and not is_deleted
),

told_spans as (
    select
        *,
        lead(first_seen_at) over (partition by cluster, node_uid, tool order by first_seen_at)
            as ended_at
    from (
        select
            *,
            lag((kind, action)) over (partition by cluster, node_uid, tool order by first_seen_at)
                as before
        from told_steps
    )
    where (kind, action) is distinct from before
),

drains as (
    select * from marked_drains
    union all
    select * from eviction_drains
),

boots as (
    select
        cluster,
        node_uid,
        boot_id,
        min(first_seen_at) as first_seen_at,
        max(last_seen_at) as last_seen_at,
        max(coalesce(ready."lastHeartbeatTime", last_seen_at)) as last_heartbeat_at,
        max(
            case
                when
                    ready.status <> 'True'
                    then least(ready."lastTransitionTime", ready."lastHeartbeatTime")
            end
        ) as lost_at,
        max(case when ready.status = 'True' then ready."lastTransitionTime" end) as last_ready_at,
        min(case when ready.status = 'True' then ready."lastTransitionTime" end) as ready_at
    from (
        select *, list_filter(conditions, lambda c: c.type = 'Ready')[1] as ready
        from observed.node_versions
    )
    where boot_id <> '' and first_seen_at is not null and not is_deleted
    group by cluster, node_uid, boot_id
),

boot_changes as (
    select
        *,
        lag(last_heartbeat_at) over boot_order as last_beat_before,
        -- Lost at the end of the old boot, and not back in between.
        lag(case when lost_at > coalesce(last_ready_at, '-infinity') then lost_at end)
            over boot_order
            as lost_before
    from boots
    window boot_order as (partition by cluster, node_uid order by first_seen_at)
),

returns as (
    select
        boot.cluster,
        boot.node_uid,
        boot.boot_id,
        boot.last_beat_before,
        boot.lost_before,
        -- Ready since before the boot means that the flap was too short to be noticed: then the kubelet's
        -- event tells when it was back.
        coalesce(
            case when boot.ready_at > boot.last_beat_before then boot.ready_at end,
            min(event.first_at),
            boot.first_seen_at
        ) as back_at
    from boot_changes as boot
    left join observed.event_objects as event
        on
            boot.cluster = event.cluster
            and boot.node_uid = event.node_uid
            and event.reason = 'Rebooted'
            and event.first_at > boot.last_beat_before
            and event.first_at <= boot.last_seen_at
    where boot.last_beat_before is not null
    group by
        boot.cluster,
        boot.node_uid,
        boot.boot_id,
        boot.last_beat_before,
        boot.lost_before,
        boot.ready_at,
        boot.first_seen_at
),

reboots as (
    select
        cluster,
        node_uid,
        -- Nobody noticed: it took less than the 50 s after which a silent node is called lost.
        coalesce(lost_before, greatest(last_beat_before, back_at - interval 50 seconds))
            as started_at,
        back_at as ended_at
    from returns
),

orders as (
    select cluster, node_uid, started_at, ended_at from cordons
    union all
    select cluster, node_uid, first_seen_at, ended_at from told_spans where action is not null
),

ordered_reboots as (
    select reboots.*, count(orders.node_uid) > 0 as is_ordered
    from reboots
    left join orders
        on
            reboots.cluster = orders.cluster
            and reboots.node_uid = orders.node_uid
            and orders.started_at <= reboots.ended_at
            and coalesce(orders.ended_at, 'infinity') > reboots.started_at
    group by all
),

actions as (
    select
        cluster,
        node_uid,
        'cordon' as kind,
        null as action,
        true as is_ordered,
        started_at,
        ended_at
    from cordons

    union all

    select cluster, node_uid, 'drain', null, true, started_at, ended_at
    from drains

    union all

    select cluster, node_uid, 'repair', 'reboot', is_ordered, started_at, ended_at
    from ordered_reboots

    union all

    select cluster, node_uid, kind, action, true, first_seen_at, ended_at
    from told_spans
    where kind is not null
),

-- Who acts on a node of which something is bad repairs it; else it was planned. A node that is being
-- rebooted is not Ready because of that.
sick as (
    select distinct actions.cluster, actions.node_uid, actions.started_at
    from actions
    inner join observed.node_condition_events_kube as turn
        on
            actions.cluster = turn.cluster
            and actions.node_uid = turn.node_uid
            and (turn.type <> 'Ready' or actions.kind <> 'repair')
            and turn.t <= actions.started_at
    qualify is_bad_condition(
        turn.type,
        arg_max(turn.status, turn.t) over (
            partition by actions.cluster, actions.node_uid, actions.started_at, turn.type
        )
    )
)

select
    actions.cluster,
    actions.node_uid,
    actions.kind,
    cast(actions.action as varchar) as action,
    actions.is_ordered and sick.node_uid is null as planned,
    case when not actions.is_ordered then 'host.kernel' end as class,
    actions.started_at as "from",
    actions.ended_at as "to"
from actions
left join sick using (cluster, node_uid, started_at)
where actions.started_at is not null and actions.ended_at is distinct from actions.started_at
