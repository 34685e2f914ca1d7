-- Devices whose pods asked for more than there is: an end
-- was not observed, and their shares were scaled [1.3].
--
-- grain: row
-- severity: warn

select
    span.cluster,
    span.node_uid,
    span.gpu,
    instant_of(span.started_ms) as started_at,
    instant_of(span.ended_ms) as ended_at,
    list_transform(span.held, lambda share: share.pod_uid) as pod_uids
from ledger.held_spans as span
where
    len(span.held) > 1
    and exists (
        select 1
        from (select unnest(span.held) as share) as holder
        inner join staged.pods as pod
            on pod.cluster = span.cluster and holder.share.pod_uid = pod.pod_uid
        where holder.share.unit_count < pod.unit_count
    )
