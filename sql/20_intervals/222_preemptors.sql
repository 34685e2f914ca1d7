-- Preemptions that made room for the restart of another run, with the end that it restarts from
-- [4.7, second order].
--
-- Who came next on a GPU within attrib_after_s of its release was made room for; of several, who
-- took the most. It was a restart if its run had broken before the preemption and was waiting.
--
-- grain: cluster, job, attempt
-- nothing without: intervals.attribution

with victims as (
    select
        victim.cluster,
        victim.job,
        victim.attempt,
        lineage.lineage_id,
        lineage.ended_ms,
        pod.pod_uid,
        pod.node_uid,
        unnest(held.devices) as gpu,
        end_ms(pod.released_at) - 1000 * getvariable('skew_s') as free_ms
    from intervals.attribution as victim
    inner join intervals.lineage_attempts as lineage using (cluster, job, attempt)
    inner join staged.pods as pod using (cluster, job, attempt)
    inner join intervals.pod_devices as held using (cluster, pod_uid)
    where victim.class = 'plat.preempt'
),

takers as (
    select
        held.cluster,
        held.node_uid,
        held.gpu,
        pod.job,
        pod.attempt,
        ms_of(pod.bound_at) as bound_ms
    from (
        select cluster, node_uid, pod_uid, unnest(devices) as gpu
        from intervals.pod_devices
    ) as held
    semi join victims using (cluster, node_uid, gpu)
    inner join staged.pods as pod using (cluster, pod_uid)
),

taken as (
    select
        victim.cluster,
        victim.job,
        victim.attempt,
        victim.lineage_id,
        victim.ended_ms,
        taker.job as taker_job,
        taker.attempt as taker_attempt,
        count(*) as device_count,
        min(taker.bound_ms) as bound_ms
    from victims as victim
    asof inner join takers as taker
        on
            victim.cluster = taker.cluster
            and victim.node_uid = taker.node_uid
            and victim.gpu = taker.gpu
            and victim.free_ms <= taker.bound_ms
    where taker.bound_ms <= victim.free_ms + 1000 * getvariable('attrib_after_s')
    group by all
),

most as (
    select *
    from taken
    qualify row_number() over (
        partition by cluster, job, attempt
        order by device_count desc, bound_ms, taker_job, taker_attempt
    ) = 1
)

select
    most.cluster,
    most.job,
    most.attempt,
    most.taker_job as restarted_job,
    most.taker_attempt as restarted_attempt,
    broken.class as caused_by,
    broken.job as caused_by_job,
    broken.attempt as caused_by_attempt
from most
inner join intervals.lineage_attempts as restart
    on
        most.cluster = restart.cluster
        and most.taker_job = restart.job
        and most.taker_attempt = restart.attempt
inner join intervals.attribution as broken
    on
        restart.cluster = broken.cluster
        and restart.prev_job = broken.job
        and restart.prev_attempt = broken.attempt
where
    restart.lineage_id <> most.lineage_id
    and restart.prev_ended_ms <= most.ended_ms + 1000 * getvariable('skew_s')
