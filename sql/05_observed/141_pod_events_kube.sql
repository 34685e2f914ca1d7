-- Binds and deletions of GPU pods as events and watches told them.
--
-- grain: row

select
    event.cluster,
    event.pod_uid,
    'bound' as kind,
    event.first_at as t,
    event.ingested_at,
    event.ingested_from
from observed.event_objects as event
semi join observed.gpu_pods as pod on event.cluster = pod.cluster and event.pod_uid = pod.pod_uid
where event.reason = 'Scheduled'

union all

select
    cluster,
    pod_uid,
    'deleted',
    deleted_at,
    ingested_at,
    ingested_from
from observed.gpu_pods
where deleted_at is not null
