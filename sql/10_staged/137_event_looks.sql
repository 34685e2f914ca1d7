-- When somebody listed the events of a cluster in which those about nodes are: of all namespaces, or
-- of `default`.
--
-- grain: cluster, looked_at

select distinct cluster, observed_at as looked_at
from raw.kube_lists
where
    kind = 'Event'
    and observed_at <= getvariable('as_of')
    and coalesce(namespace, '') in ('', 'default')
