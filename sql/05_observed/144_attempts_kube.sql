-- Attempts: from the first bind of a gang to the moment it was declared over.
--
-- Over is the earliest of: the job's end, the failure of the child job that made the controller start
-- again, an eviction by Kueue, a disruption of every member, all pods gone. Where none of these is known, the
-- next attempt's first bind ends it [STANDARD 1.5].
--
-- grain: cluster, job, attempt

with members as (
    select pod.*, source.deletion_at
    from observed.pods_kube as pod
    inner join observed.gpu_pods as source
        on pod.cluster = source.cluster and split_part(pod.pod_uid, '#', 1) = source.pod_uid
),

gangs as (
    select
        cluster,
        job,
        attempt,
        min(bound_at) as started_at,
        count(*) as members,
        bool_and(coalesce(released_at, gone_by) is not null) as is_gone,
        case when bool_and(released_at is not null) then max(released_at) end as released_at,
        -- Nobody knows when a pod that vanished ended: not before it was seen last. One that should have
        -- been gone by then was stuck: its gang was over, or nobody would have deleted it.
        max(coalesce(released_at, least(last_seen, deletion_at))) as last_known_at,
        min(terminated_at) as first_end_at,
        bool_or(exit_code <> 0 or reason = 'OOMKilled') as has_bad_exit,
        bool_and(
            coalesce(exit_code = 0 and reason is distinct from 'OOMKilled', false)
            and not is_node_shutdown(reason)
        ) as is_clean,
        max(ingested_at) as ingested_at,
        max(ingested_from) as ingested_from
    from members
    group by cluster, job, attempt
),

following as (
    select
        *,
        lead(started_at) over (partition by cluster, job order by attempt) as next_started_at
    from gangs
),

disruptions as (
    select
        pod.cluster,
        pod.job,
        pod.attempt,
        min(source.disrupted_at) as first_disrupted_at,
        arg_min(source.disruption, source.disrupted_at) as first_disruption,
        case when count(*) = count(source.disrupted_at) then min(source.disrupted_at) end
            as all_disrupted_at
    from observed.pods_kube as pod
    inner join observed.gpu_pods as source
        on pod.cluster = source.cluster and split_part(pod.pod_uid, '#', 1) = source.pod_uid
    where pod.disruption is not distinct from source.disruption
    group by pod.cluster, pod.job, pod.attempt
),

evictions as (
    select
        following.cluster,
        following.job,
        following.attempt,
        min(point.occurred_at) as evicted_at,
        arg_min(point.reason, point.occurred_at) as reason
    from following
    inner join observed.admission_points as point
        on
            following.cluster = point.cluster
            and following.job = point.job
            and point.kind = 'evicted'
            and point.occurred_at >= following.started_at
            and point.occurred_at < coalesce(following.next_started_at, 'infinity')
    group by following.cluster, following.job, following.attempt
),

child_failures as (
    select pod.cluster, pod.job, pod.attempt, min(child.ended_at) as failed_at
    from observed.workload_objects as child
    inner join observed.gpu_pods as member
        on
            child.cluster = member.cluster
            and child.job = member.job
            and child.attempt_label = member.attempt_label
    inner join observed.pods_kube as pod
        on member.cluster = pod.cluster and member.pod_uid = pod.pod_uid
    where not child.is_top and child.state = 'failed'
    group by pod.cluster, pod.job, pod.attempt
),

expected as (
    select
        cluster,
        job,
        max(min_members) as min_members,
        max(end_reason) filter (where is_top) as end_reason
    from observed.workload_objects
    group by cluster, job
),

declared as (
    select
        following.*,
        job.state as job_state,
        job.ended_at as job_ended_at,
        following.next_started_at is null and job.state <> 'running' as is_last_of_ended,
        expected.min_members,
        expected.end_reason,
        evictions.evicted_at,
        evictions.reason as eviction_reason,
        outcomes.outcome as disruption_outcome,
        disruptions.first_disrupted_at,
        least(
            following.released_at,
            case when following.next_started_at is null then job.ended_at end,
            evictions.evicted_at,
            case
                when child_failures.failed_at >= following.started_at then child_failures.failed_at
            end,
            case
                when
                    disruptions.all_disrupted_at >= following.started_at
                    then disruptions.all_disrupted_at
            end
        ) as declared_at
    from following
    inner join observed.jobs_kube as job using (cluster, job)
    left join disruptions using (cluster, job, attempt)
    left join
        catalog.disruption_outcomes as outcomes
        on disruptions.first_disruption = outcomes.reason
    left join evictions using (cluster, job, attempt)
    left join child_failures using (cluster, job, attempt)
    left join expected using (cluster, job)
),

ended as (
    select
        *,
        greatest(
            started_at,
            least(
                coalesce(declared_at, case when is_gone then last_known_at end, next_started_at),
                next_started_at
            )
        ) as ended_at,
        declared_at is null and not is_gone and next_started_at is null as is_open
    from declared
)

select
    cluster,
    job,
    attempt,
    started_at as start,
    case when not is_open then ended_at end as "end",
    case
        when is_open then 'running'
        when is_last_of_ended and job_state = 'succeeded' then 'succeeded'
        when evicted_at <= coalesce(first_end_at, 'infinity')
            then
                case eviction_reason
                    when 'Preempted' then 'preempted'
                    when 'MaximumExecutionTimeExceeded' then 'timeout'
                    when 'Deactivated' then 'cancelled'
                    when 'WorkloadSliceReplaced' then 'resized'
                    else 'evicted'
                end
        -- A member that failed before anybody was disrupted is why the attempt ended.
        when
            first_disrupted_at <= coalesce(first_end_at, 'infinity')
            then coalesce(disruption_outcome, 'evicted')
        when
            is_last_of_ended and job_state = 'failed' and end_reason = 'DeadlineExceeded'
            then 'timeout'
        -- What exits because its job was deleted did not fail.
        when
            is_last_of_ended
            and job_state = 'cancelled'
            and (
                not coalesce(has_bad_exit, false)
                or job_ended_at <= coalesce(first_end_at, 'infinity')
            )
            then 'cancelled'
        when is_clean then 'succeeded'
        else 'failed'
    end as outcome,
    -- What was asked for; of an attempt that is over, members nobody saw cannot be waited for.
    cast(
        case
            when is_open then min_members when min_members > 0 then least(min_members, members)
        end as integer
    ) as min_members,
    ingested_at,
    ingested_from
from ended
