-- Per failure class: how often its interruptions were retried, how often that helped, and what the
-- retries that did not help held.
--
-- grain: cluster, class

select
    retries.cluster,
    retries.class,
    taxonomy.domain,
    taxonomy.retry_default,
    count(*) as failure_count,
    count(*) filter (where retries.is_decided) as retry_count,
    count(*) filter (where retries.is_decided and retries.is_helped) as helped_count,
    gpu_hours(coalesce(sum(retries.unit_ms) filter (where retries.is_decided and not retries.is_helped), 0))
        as wasted_gpu_hours
from rollups.retries as retries
inner join catalog.taxonomy as taxonomy using (class)
group by retries.cluster, retries.class, taxonomy.domain, taxonomy.retry_default
