-- What a figure is given for: each cluster by itself and, when there are several, '*' for all of
-- them together.
--
-- grain: cluster, member

with members as (
    select cluster from staged.nodes
    union
    select cluster from staged.jobs
)

select
    cluster,
    cluster as member
from members
union all
select
    '*' as cluster,
    cluster as member
from members
where (select count(*) from members) > 1
