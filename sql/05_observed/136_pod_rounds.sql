-- Rounds of a generation: restarts in place that every pod of the gang made.
--
-- With restartPolicy OnFailure the kubelet starts a failed container again in the same pod. When all members
-- of a training gang did so, a new attempt began; when only some did, the gang went on [STANDARD 1.5].
-- A round begins when the container's run before it ended.
--
-- grain: cluster, pod_uid, run

with members as (
    select
        generation.cluster,
        generation.pod_uid,
        generation.job,
        generation.generation,
        count(*)
            over (partition by generation.cluster, generation.job, generation.generation)
            as member_count
    from observed.pod_generations as generation
    inner join observed.gpu_pods as pod using (cluster, pod_uid)
    where pod.job_kind = 'training'
),

restarts as (
    select
        before.cluster,
        before.pod_uid,
        before.run + 1 as run,
        min(before.finished_at) as began_at,
        arg_min(before.exit_code, before.finished_at) as exit_code,
        arg_min(before.reason, before.finished_at) as reason,
        max(after.started_at) as running_at
    from observed.container_runs as before
    inner join observed.container_runs as after
        on
            before.cluster = after.cluster
            and before.pod_uid = after.pod_uid
            and before.container = after.container
            and before.run + 1 = after.run
    where before.finished_at is not null
    group by before.cluster, before.pod_uid, before.run
)

select restarts.*
from restarts
inner join members using (cluster, pod_uid)
qualify count(*) over (
    partition by members.cluster, members.job, members.generation, restarts.run
) = members.member_count
