-- When somebody first and last looked at the objects of a cluster.
--
-- grain: cluster

select cluster, min(observed_at) as first_at, max(observed_at) as last_at
from (
    select cluster, observed_at from raw.kube_objects
    union all
    select cluster, observed_at from raw.kube_lists
)
where observed_at <= getvariable('as_of')
group by cluster
