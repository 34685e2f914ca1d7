-- What the time of the ledger cost, at the price of its pool at that instant (STANDARD 5.13). Time of a
-- pool without a price is not in it.
--
-- weighted_cost is exact: units × milliseconds × micro-dollars per GPU-hour. Divided by 5040 × 3600000 ×
-- 10000 it is cents.
--
-- grain: cluster, member, pool, team, job, state, cause
-- nothing without: staged.prices

with booked as (
    select
        device.cluster,
        device.pool,
        booking.pod_id,
        booking.charge_id,
        booking.started_ms,
        booking.ended_ms,
        booking.unit_ms
    from ledger.bookings as booking
    inner join ledger.device_groups as device using (group_id)

    union all by name

    select
        unlaunched.cluster,
        unlaunched.pool,
        unlaunched.started_ms,
        unlaunched.ended_ms,
        5040 * (unlaunched.ended_ms - unlaunched.started_ms) as unit_ms,
        unlaunched.class
    from ledger.unlaunched as unlaunched
),

-- The units of a booking are the same all along it.
priced as (
    select
        booked.cluster,
        booked.pool,
        booked.pod_id,
        booked.charge_id,
        booked.class,
        sum(
            cast(booked.unit_ms // (booked.ended_ms - booked.started_ms) as hugeint)
            * (
                least(booked.ended_ms, end_ms(price.ended_at))
                - greatest(booked.started_ms, ms_of(price.started_at))
            )
            * price.microdollars_per_gpu_hour
        ) as weighted_cost
    from booked
    inner join staged.prices as price
        on
            booked.cluster = price.cluster
            and booked.pool = price.pool
            and booked.started_ms < end_ms(price.ended_at)
            and booked.ended_ms > ms_of(price.started_at)
    group by all
),

named as (
    select
        priced.cluster,
        priced.pool,
        pod.job,
        coalesce(charge.state, 'U.unlaunched') as state,
        coalesce(charge.cause, priced.class) as cause,
        sum(priced.weighted_cost) as weighted_cost
    from priced
    left join ledger.charges as charge using (charge_id)
    left join intervals.pod_devices as held using (pod_id)
    left join staged.pods as pod on held.cluster = pod.cluster and held.pod_uid = pod.pod_uid
    group by all
)

select
    clusters.cluster,
    clusters.member,
    named.pool,
    jobs.team,
    named.job,
    named.state,
    named.cause,
    is_loss(named.state, named.cause) as is_lost,
    cast(sum(named.weighted_cost) as hugeint) as weighted_cost
from named
inner join rollups.clusters as clusters on named.cluster = clusters.member
left join staged.jobs as jobs on named.cluster = jobs.cluster and named.job = jobs.job
group by all
