-- Evidence as the other evidence around it makes it read: GPU errors that come in pairs, and
-- errors of applications that follow the device from job to job [4.6].
--
-- catalog.xid_rules says which. A device that ran several lineages at the instant says of none.
--
-- grain: row
-- nothing without: staged.evidence

with xids as (
    select distinct cluster, node_uid, gpu, xid, observed_at
    from staged.evidence
    where xid is not null and node_uid is not null
),

paired as (
    select
        xids.cluster,
        xids.node_uid,
        xids.gpu,
        xids.xid,
        xids.observed_at,
        arg_min(
            {'class': rule.class, 'role': rule.role, 'strength': rule.strength}, rule.catalog_order
        ) as verdict
    from xids
    inner join catalog.xid_rules as rule on rule.rule = 'with' and xids.xid = rule.xid
    inner join xids as companion
        on
            xids.cluster = companion.cluster
            and xids.node_uid = companion.node_uid
            and xids.gpu is not distinct from companion.gpu
            and cast(rule.given as integer) = companion.xid
            and abs(ms_of(xids.observed_at) - ms_of(companion.observed_at))
            <= 1000 * getvariable('skew_s')
    group by xids.cluster, xids.node_uid, xids.gpu, xids.xid, xids.observed_at
),

suffered as (
    select
        xids.cluster,
        xids.node_uid,
        xids.gpu,
        xids.xid,
        xids.observed_at,
        any_value({'class': rule.class, 'role': rule.role, 'strength': rule.strength}) as verdict,
        min(attempt.lineage_id) as lineage_id
    from xids
    inner join catalog.xid_rules as rule on rule.rule = 'recurs' and xids.xid = rule.xid
    inner join intervals.attempt_devices as device
        on
            xids.cluster = device.cluster
            and xids.node_uid = device.node_uid
            and xids.gpu = device.gpu
    inner join staged.pods as pod
        on
            device.cluster = pod.cluster
            and device.pod_uid = pod.pod_uid
            and xids.observed_at >= pod.bound_at
            and xids.observed_at < coalesce(pod.released_at, 'infinity')
    inner join intervals.lineage_attempts as attempt
        on
            device.cluster = attempt.cluster
            and device.job = attempt.job
            and device.attempt = attempt.attempt
    group by xids.cluster, xids.node_uid, xids.gpu, xids.xid, xids.observed_at
    having count(distinct attempt.lineage_id) = 1
),

recurring as (
    select *
    from suffered
    window recent as (
        partition by cluster, node_uid, gpu, xid
        order by observed_at
        range between to_days(getvariable('recur_days')) preceding and current row
    )
    qualify min(lineage_id) over recent <> max(lineage_id) over recent
)

select
    evidence.* replace (
        coalesce(paired.verdict.class, recurring.verdict.class, evidence.class) as class,
        coalesce(paired.verdict.role, recurring.verdict.role, evidence.role) as role,
        coalesce(paired.verdict.strength, recurring.verdict.strength, evidence.strength) as strength
    )
from staged.evidence as evidence
left join paired
    on
        evidence.cluster = paired.cluster
        and evidence.node_uid = paired.node_uid
        and evidence.gpu is not distinct from paired.gpu
        and evidence.xid = paired.xid
        and evidence.observed_at = paired.observed_at
left join recurring
    on
        evidence.cluster = recurring.cluster
        and evidence.node_uid = recurring.node_uid
        and evidence.gpu = recurring.gpu
        and evidence.xid = recurring.xid
        and evidence.observed_at = recurring.observed_at
