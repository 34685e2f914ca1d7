-- Where a pool had queued work: maximal pieces with one
-- oldest restart, cut at every change of the queue.
--
-- The oldest waiting restart charges the idle GPUs to the failure that
-- it restarts from [1.7]. Entries are taken by (queued since, job):
-- one is the oldest from when it comes, or all older ones have left.
--
-- grain: cluster, pool, started_ms

with waiting as (
    select
        cluster,
        job,
        attempt,
        pool,
        pods,
        gpus_per_pod,
        ms_of(started_at) as started_ms,
        end_ms(ended_at) as ended_ms
    from staged.queue
    where not is_suspended and (ended_at is null or ended_at > started_at)
),

restarts as (
    select
        *,
        coalesce(max(ended_ms) over (
            partition by cluster, pool
            order by started_ms, job, attempt
            rows between unbounded preceding and 1 preceding
        ), 0) as older_until_ms
    from waiting
    where attempt > 1
),

-- The cause of the newest earlier attempt of the job that ended badly.
prior_ends as (
    select
        restart.cluster,
        restart.pool,
        restart.started_ms,
        restart.job,
        restart.attempt,
        max_by({'class': prior.class, 'attempt': prior.attempt}, prior.attempt) as ended
    from restarts as restart
    inner join intervals.attribution as prior
        on
            restart.cluster = prior.cluster
            and restart.job = prior.job
            and prior.attempt < restart.attempt
    group by restart.cluster, restart.pool, restart.started_ms, restart.job, restart.attempt
),

charged as (
    select
        restart.cluster,
        restart.pool,
        greatest(restart.started_ms, restart.older_until_ms) as started_ms,
        restart.ended_ms,
        prior.ended.class as cause,
        restart.job as cause_job,
        prior.ended.attempt as cause_attempt
    from restarts as restart
    left join prior_ends as prior using (cluster, pool, started_ms, job, attempt)
    where restart.ended_ms > greatest(restart.started_ms, restart.older_until_ms)
),

edges as (
    select cluster, pool, started_ms as edge_ms from waiting
    union
    select cluster, pool, ended_ms from waiting
    union
    select cluster, pool, started_ms from charged
),

pieces as (
    select
        cluster,
        pool,
        edge_ms as started_ms,
        lead(edge_ms) over (partition by cluster, pool order by edge_ms) as ended_ms
    from edges
),

counts as (
    select cluster, pool, edge_ms, sum(change) as change
    from (
        select cluster, pool, started_ms as edge_ms, 1 as change from waiting
        union all
        select cluster, pool, ended_ms, -1 from waiting
    )
    group by cluster, pool, edge_ms
),

loaded as (
    select
        piece.*,
        sum(coalesce(counts.change, 0)) over (
            partition by piece.cluster, piece.pool order by piece.started_ms
        ) as waiting_count
    from pieces as piece
    left join counts
        on
            piece.cluster = counts.cluster
            and piece.pool = counts.pool
            and piece.started_ms = counts.edge_ms
)

-- Charged spans are disjoint: only the last one that began can hold a piece.
select
    loaded.cluster,
    loaded.pool,
    loaded.started_ms,
    loaded.ended_ms,
    case when loaded.ended_ms <= charged.ended_ms then charged.cause end as cause,
    case when loaded.ended_ms <= charged.ended_ms then charged.cause_job end as cause_job,
    case when loaded.ended_ms <= charged.ended_ms then charged.cause_attempt end as cause_attempt
from loaded
asof left join charged
    on
        loaded.cluster = charged.cluster
        and loaded.pool = charged.pool
        and loaded.started_ms >= charged.started_ms
where loaded.waiting_count > 0 and loaded.ended_ms is not null
