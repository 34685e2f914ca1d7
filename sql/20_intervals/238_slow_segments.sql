-- When attempts were slow, against which baseline, and how sure the cause is [3.4, 3.5].
--
-- basis: what named the class. elimination: nothing did, and node_uid is under suspicion since the
-- slowness follows it from gang to gang. 10 points go where more than a tenth of the records are
-- synthetic.
--
-- grain: attempt_id, zone, setting_id, class, basis
-- nothing without: intervals.slow_records

with spans as (
    select
        attempt_id,
        zone,
        setting_id,
        class,
        basis,
        min(started_ms) as started_ms,
        max(ended_ms) as ended_ms,
        count(*) as record_count,
        count(*) filter (where is_synthetic) as synthetic_count
    from intervals.slow_records
    group by attempt_id, zone, setting_id, class, basis
),

suspects as (
    select
        attempt.attempt_id,
        arg_min(
            suspect.node_uid, {'p_value': suspect.p_value, 'node_uid': suspect.node_uid}
        ) as node_uid
    from intervals.slow_suspects as suspect
    inner join staged.pods as pod using (cluster, node_uid)
    inner join intervals.lineage_attempts as attempt
        on
            pod.cluster = attempt.cluster
            and pod.job = attempt.job
            and pod.attempt = attempt.attempt
    group by attempt.attempt_id
)

select
    attempt.cluster,
    attempt.job,
    attempt.attempt,
    span.attempt_id,
    span.zone,
    span.setting_id,
    span.started_ms,
    span.ended_ms,
    span.record_count,
    segment.median_ms,
    segment.baseline_ms,
    span.class,
    case when suspect.node_uid is not null then 'elimination' else span.basis end as basis,
    suspect.node_uid,
    case
        when span.basis = 'condition' then 90
        when span.basis = 'rank' then 80
        when suspect.node_uid is not null then 60
        else 30
    end
    - case when span.synthetic_count * 10 > span.record_count then 10 else 0 end as confidence
from spans as span
inner join intervals.lineage_attempts as attempt using (attempt_id)
inner join intervals.judged_segments as segment using (attempt_id, zone, setting_id)
left join suspects as suspect on span.attempt_id = suspect.attempt_id and span.basis = 'nothing'
