-- The way of each outage of a node from its onset back to service, stage by stage (STANDARD 5.4).
--
-- The onset is the first evidence: a signal of the outage's class on the node within attrib_before_s
-- of the outage, or when the first interruption of its incident there began to show; never after the
-- outage. It is detected at the first blocking condition, or when such an interrupted attempt ended;
-- where neither is known, as the outage began. It is back at its end, once that is back_s ago: until
-- then it may be a lull. A stage that was not reached at the knowledge time is null. The step is the
-- strongest thing that was done to the node: a repair, else a drain, else a cordon, else none. due_ms is
-- when a repair should have begun by catalog.repair_tolerations, from the first condition that has a
-- tolerance.
--
-- grain: cluster, node_uid, started_ms

with outages as (
    select
        outage.*,
        coalesce(outage.ended_ms, getvariable('as_of_ms')) as known_end_ms
    from rollups.node_outages as outage
    where not outage.is_birth
),

conditions as (
    select
        outage.cluster,
        outage.node_uid,
        outage.started_ms,
        min(condition.started_ms) as condition_ms,
        min(condition.started_ms + 1000 * toleration.tolerate_s) as due_ms
    from outages as outage
    inner join intervals.condition_repairs as condition
        on
            outage.cluster = condition.cluster
            and outage.node_uid = condition.node_uid
            and condition.started_ms between outage.started_ms and outage.known_end_ms
    left join catalog.repair_tolerations as toleration
        on condition.type = toleration.condition_type
    where condition.is_blocking and not condition.is_in_repair
    group by outage.cluster, outage.node_uid, outage.started_ms
),

signals as (
    select
        outage.cluster,
        outage.node_uid,
        outage.started_ms,
        min(ms_of(signal.observed_at)) as signal_ms
    from outages as outage
    inner join intervals.signals as signal
        on
            outage.cluster = signal.cluster
            and outage.node_uid = signal.node_uid
            and outage.class = signal.class
            and ms_of(signal.observed_at)
            between outage.started_ms - 1000 * getvariable('attrib_before_s') and outage.started_ms
    group by outage.cluster, outage.node_uid, outage.started_ms
),

interruptions as (
    select
        outage.cluster,
        outage.node_uid,
        outage.started_ms,
        min(onset.onset_ms) as onset_ms,
        min(onset.ended_ms) as ended_ms
    from outages as outage
    inner join intervals.attribution as attribution
        on outage.cluster = attribution.cluster and outage.node_uid = attribution.node_uid
    inner join intervals.incident_members as member
        on
            attribution.cluster = member.cluster
            and attribution.job = member.job
            and attribution.attempt = member.attempt
            and outage.incident = member.incident
    inner join intervals.attempt_onsets as onset
        on
            attribution.cluster = onset.cluster
            and attribution.job = onset.job
            and attribution.attempt = onset.attempt
    group by outage.cluster, outage.node_uid, outage.started_ms
),

admin as (
    select
        outage.cluster,
        outage.node_uid,
        outage.started_ms,
        min(ms_of(admin.started_at)) filter (where admin.kind in ('cordon', 'drain'))
            as isolated_ms,
        bool_or(admin.kind = 'drain') as is_drained,
        max(ms_of(admin.ended_at)) filter (where admin.kind = 'drain') as drained_ms,
        min(ms_of(admin.started_at)) filter (where admin.kind = 'repair') as repair_started_ms,
        case
            when bool_and(admin.ended_at is not null) filter (where admin.kind = 'repair')
                then max(ms_of(admin.ended_at)) filter (where admin.kind = 'repair')
        end as repair_ended_ms
    from outages as outage
    inner join staged.node_admin as admin
        on
            outage.cluster = admin.cluster
            and outage.node_uid = admin.node_uid
            and ms_of(admin.started_at) between outage.started_ms and outage.known_end_ms
    group by outage.cluster, outage.node_uid, outage.started_ms
)

select
    outage.cluster,
    outage.node_uid,
    outage.pool,
    outage.started_ms,
    outage.class,
    outage.domain,
    coalesce(
        outage.action,
        case
            when admin.is_drained then 'drain'
            when admin.isolated_ms is not null then 'cordon'
            else 'none'
        end
    ) as step,
    outage.incident,
    not outage.planned
    and outage.domain <> 'baseline'
    and outage.class <> 'plat.maint' as is_unplanned,
    least(outage.started_ms, signals.signal_ms, interruptions.onset_ms) as onset_ms,
    greatest(
        least(outage.started_ms, signals.signal_ms, interruptions.onset_ms),
        coalesce(
            least(conditions.condition_ms, interruptions.ended_ms), outage.started_ms
        )
    ) as detected_ms,
    admin.isolated_ms,
    admin.drained_ms,
    admin.repair_started_ms,
    admin.repair_ended_ms,
    case when outage.ended_ms + 1000 * getvariable('back_s') <= getvariable('as_of_ms') then outage.ended_ms end
        as back_ms,
    conditions.due_ms
from outages as outage
left join conditions using (cluster, node_uid, started_ms)
left join signals using (cluster, node_uid, started_ms)
left join interruptions using (cluster, node_uid, started_ms)
left join admin using (cluster, node_uid, started_ms)
