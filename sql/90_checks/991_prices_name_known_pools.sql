-- Prices of a pool that has no node, while nodes of another pool have no price: their dollars are missing. The
-- pool is that of the rows of nodes; without one it is "default".
--
-- grain: row
-- severity: warn

with unpriced as (
    select cluster, list(distinct pool order by pool) as unpriced_pools
    from staged.nodes
    anti join staged.prices using (cluster, pool)
    group by cluster
)

select price.cluster, price.pool, price.started_at, price.microdollars_per_gpu_hour, unpriced.unpriced_pools
from staged.prices as price
anti join staged.nodes using (cluster, pool)
inner join unpriced using (cluster)
