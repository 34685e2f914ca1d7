-- Committed GPUs that were not launched, one row per missing device and interval [1.2].
--
-- grain: cluster, pool, gpu, started_ms
-- nothing without: staged.commitments

with launched_changes as (
    select cluster, pool, ms_of(paid_from) as edge_ms, gpus as change
    from staged.nodes
    union all
    select cluster, pool, ms_of(paid_to), -gpus
    from staged.nodes
    where paid_to is not null
),

commitments as (
    select
        cluster,
        pool,
        gpus,
        class,
        ms_of(started_at) as started_ms,
        end_ms(ended_at) as ended_ms,
        row_number() over (
            partition by cluster, pool
            order by started_at, gpus, class
        ) as commitment
    from staged.commitments
),

edges as (
    select
        commitment.cluster,
        commitment.pool,
        commitment.commitment,
        change.edge_ms,
        sum(change.change) as change
    from commitments as commitment
    inner join launched_changes as change using (cluster, pool)
    group by commitment.cluster, commitment.pool, commitment.commitment, change.edge_ms

    union all

    select
        cluster,
        pool,
        commitment,
        unnest([
            started_ms,
            ended_ms,
            getvariable('window_start_ms'),
            getvariable('window_end_ms')
        ]),
        0
    from commitments
),

summed as (
    select cluster, pool, commitment, edge_ms, sum(change) as change
    from edges
    group by cluster, pool, commitment, edge_ms
),

counted as (
    select
        *,
        lead(edge_ms) over by_commitment as next_ms,
        sum(change) over by_commitment as launched
    from summed
    window by_commitment as (partition by cluster, pool, commitment order by edge_ms)
),

missing as (
    select
        counted.cluster,
        counted.pool,
        commitment.class,
        commitment.commitment,
        greatest(
            counted.edge_ms, commitment.started_ms, getvariable('window_start_ms')
        ) as started_ms,
        least(counted.next_ms, commitment.ended_ms, getvariable('window_end_ms')) as ended_ms,
        commitment.gpus - counted.launched as missing_count
    from counted
    inner join commitments as commitment using (cluster, pool, commitment)
    where commitment.gpus > counted.launched
)

select
    cluster,
    pool,
    class,
    1000000 * commitment + unnest(range(cast(missing_count as bigint))) as gpu,
    started_ms,
    ended_ms
from missing
where ended_ms > started_ms
