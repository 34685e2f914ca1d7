-- Reserved capacity of a pool.
--
-- grain: row

select distinct
    cluster,
    pool,
    gpus,
    coalesce(known_class(class), 'plat.capacity') as class,
    "from" as started_at,
    "to" as ended_at
from gathered.commitments
