-- When the gang of each attempt was complete: the last required member runs [1.5].
--
-- grain: cluster, job, attempt

with members as (
    select
        cluster,
        job,
        attempt,
        count(*) as member_count,
        list_sort(list(ms_of(running_at)) filter (where running_at is not null)) as running_ms
    from staged.pods
    where role = 'worker'
    group by cluster, job, attempt
)

select
    attempt.cluster,
    attempt.job,
    attempt.attempt,
    coalesce(members.member_count, 0) as member_count,
    case
        when
            len(members.running_ms)
            >= coalesce(nullif(attempt.min_members, 0), members.member_count)
            then greatest(
                attempt.started_ms,
                members.running_ms[coalesce(nullif(attempt.min_members, 0), members.member_count)]
            )
    end as ready_ms
from intervals.lineage_attempts as attempt
left join members using (cluster, job, attempt)
