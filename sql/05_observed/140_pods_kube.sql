-- Pods that hold GPUs, with their attempt, their life and their end.
--
-- An attempt is a generation of the gang or a joint restart in place. A pod that lived through restarts in
-- place is one row an attempt: the first keeps the pod's uid, the others append the run to it.
--
-- grain: cluster, pod_uid

with segments as (
    select
        pod.*,
        generation.generation,
        coalesce(round.run, 0) as run,
        round.began_at,
        round.running_at as round_running_at,
        lead(round.began_at) over following as next_began_at,
        lead(round.exit_code) over following as round_exit_code,
        lead(round.reason) over following as round_reason
    from observed.gpu_pods as pod
    inner join observed.pod_generations as generation using (cluster, pod_uid)
    left join (
        select cluster, pod_uid, run, began_at, running_at, exit_code, reason
        from observed.pod_rounds

        union all

        select distinct
            cluster, pod_uid, 0, null::timestamptz, null::timestamptz, null::integer, null::varchar
        from observed.pod_rounds
    ) as round on pod.cluster = round.cluster and pod.pod_uid = round.pod_uid
    window following as (partition by pod.cluster, pod.pod_uid order by round.run)
),

numbered as (
    select
        *,
        dense_rank() over (partition by cluster, job order by generation, run) as attempt
    from segments
),

ranked as (
    select
        *,
        row_number() over (
            partition by cluster, job, attempt
            order by
                case
                    when
                        lower(slot_group) in ('master', 'chief', 'launcher', 'leader')
                        then 0
                    else 1
                end,
                try_cast(slot_group as integer),
                slot_group,
                slot_index,
                name
        ) - 1 as gang_rank
    from numbered
)

select
    cluster,
    case when run = 0 then pod_uid else pod_uid || '#' || run end as pod_uid,
    name,
    namespace,
    job,
    cast(attempt as integer) as attempt,
    node_uid,
    gpus,
    share,
    role,
    cast(case when slot_index is not null then gang_rank end as integer) as rank,
    coalesce(began_at, bound_at) as bound_at,
    coalesce(round_running_at, running_at) as running_at,
    coalesce(next_began_at, terminated_at) as terminated_at,
    coalesce(next_began_at, least(terminated_at, deleted_at)) as released_at,
    case when next_began_at is null then exit_code else round_exit_code end as exit_code,
    case when next_began_at is null then end_reason else round_reason end as reason,
    case when next_began_at is null then disruption end as disruption,
    -- A pod that vanished keeps its GPUs until it was missed, and nobody knows what it did [0.3 c].
    case
        when
            next_began_at is null
            and terminated_at is null
            and deleted_at is null
            and missing_at is not null
            then last_seen_at
    end as last_seen,
    case
        when next_began_at is null and terminated_at is null and deleted_at is null then missing_at
    end as gone_by,
    ingested_at,
    ingested_from
from ranked
