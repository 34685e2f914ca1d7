-- Step records: positions first..last done over [started_at, ended_at), clocks corrected, each
-- once [0.4, 2.1].
--
-- grain: cluster, job, attempt, first, last, started_at, ended_at
-- kind: view

select
    attempt_id,
    cluster,
    job,
    attempt,
    first,
    last,
    started_at,
    ended_at,
    max(world) as world,
    max(config) as config
from staged.given_steps
group by attempt_id, cluster, job, attempt, first, last, started_at, ended_at
