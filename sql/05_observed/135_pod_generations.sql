-- Which generation of its job's gang each bound GPU pod belongs to, counted from 0.
--
-- The restart counter that the controller writes on pods decides where there is one. Otherwise the second
-- pod in a slot is the second generation, and a pod that is bound after all earlier ones ended begins a new
-- one. A replacement beside pods that live on for half an hour (longer than any collective waits for a
-- lost peer) is an elastic member and no new generation.
--
-- grain: cluster, pod_uid

with ended as (
    select
        *,
        least(terminated_at, deleted_at, missing_at, deletion_at, disrupted_at) as over_at,
        least(terminated_at, deleted_at, missing_at) as gone_at
    from observed.gpu_pods
    where bound_at is not null
),

labels as (
    select
        cluster, job, attempt_label, row_number() over (
            partition by cluster, job
            order by try_cast(attempt_label as integer) nulls last, min(created_at), attempt_label
        ) - 1 as labelled_generation
    from ended
    where attempt_label is not null
    group by cluster, job, attempt_label
),

ordered as (
    select
        ended.*,
        coalesce(labels.labelled_generation, 0) as labelled_generation,
        row_number() over (
            partition by ended.cluster, ended.job, ended.attempt_label, ended.slot
            order by ended.created_at, ended.bound_at, ended.pod_uid
        ) - 1 as slot_generation,
        max(coalesce(ended.over_at, 'infinity')) over (
            partition by ended.cluster, ended.job, ended.attempt_label
            order by ended.bound_at, ended.pod_uid
            rows between unbounded preceding and 1 preceding
        ) as others_over_at
    from ended
    left join labels using (cluster, job, attempt_label)
),

islands as (
    select
        *,
        sum(case when bound_at >= others_over_at then 1 else 0 end) over (
            partition by cluster, job, attempt_label
            order by bound_at, pod_uid
        ) as island
    from ordered
),

numbered as (
    select
        *,
        -- An island boundary between two pods of one slot is already counted by the slot.
        greatest(slot_generation, island) as inner_generation
    from islands
),

generations as (
    select
        cluster,
        job,
        labelled_generation,
        inner_generation,
        min(bound_at) as first_bound_at,
        max(coalesce(gone_at, 'infinity')) as last_gone_at
    from numbered
    group by cluster, job, labelled_generation, inner_generation
),

lasting as (
    select
        *,
        max(last_gone_at) over (
            partition by cluster, job, labelled_generation
            order by inner_generation
            rows between unbounded preceding and 1 preceding
        ) as earlier_gone_at
    from generations
),

merged as (
    select
        *,
        sum(case when earlier_gone_at > first_bound_at + interval 30 minutes then 0 else 1 end)
            over (
                partition by cluster, job
                order by labelled_generation, inner_generation
            )
        - 1 as generation
    from lasting
)

select
    numbered.cluster,
    numbered.pod_uid,
    numbered.job,
    cast(merged.generation as integer) as generation
from numbered
inner join merged using (cluster, job, labelled_generation, inner_generation)
