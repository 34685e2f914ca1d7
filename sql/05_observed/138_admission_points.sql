-- When each Kueue Workload was admitted, evicted and put back into the queue.
--
-- A condition keeps its last transition only, so every version that was seen adds what it still knows.
--
-- grain: row

with versions as (
    select
        workload.cluster,
        workload.uid,
        workload.namespace,
        workload.name,
        coalesce(owner.top_uid, workload.uid) as job,
        try_cast(workload.body ->> '$.metadata.creationTimestamp' as timestamptz) as created_at,
        workload.body,
        workload.ingested_at,
        workload.ingested_from
    from raw.kube_objects as workload
    left join observed.object_owners as owner
        on workload.cluster = owner.cluster and workload.uid = owner.uid
    where workload.kind = 'Workload'
),

conditions as (
    select distinct
        cluster,
        uid,
        job,
        unnest(from_json(
            coalesce(body -> '$.status.conditions', '[]'),
            '[{"type": "VARCHAR", "status": "VARCHAR", "reason": "VARCHAR", "lastTransitionTime": "TIMESTAMPTZ"}]'
        )) as condition
    from versions
)

select distinct
    cluster,
    uid,
    job,
    'waits' as kind,
    null::varchar as type,
    null::varchar as reason,
    created_at as occurred_at
from versions
where created_at is not null

union all

select
    cluster,
    uid,
    job,
    case
        when condition.type = 'Admitted' and condition.status = 'True' then 'admitted'
        when condition.type = 'Finished' and condition.status = 'True' then 'finished'
        when condition.type = 'Evicted' and condition.status = 'True' then 'evicted'
        when condition.type = 'Preempted' and condition.status = 'True' then 'preempted'
        when condition.type = 'Requeued' and condition.status = 'True' then 'waits'
    end as kind,
    condition.type,
    condition.reason,
    condition."lastTransitionTime"
from conditions
where
    condition."lastTransitionTime" is not null
    and condition.status = 'True'
    and condition.type in ('Admitted', 'Finished', 'Evicted', 'Preempted', 'Requeued')
