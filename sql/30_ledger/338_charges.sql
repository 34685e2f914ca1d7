-- Every state and cause of the ledger with its number: those of held time, of time on nodes that
-- were not available, and of idle time.
--
-- grain: charge_id

with others as (
    select 'U.' || node_state as state, coalesce(outage_class, 'base.overhead') as cause,
        cast(null as varchar) as cause_job,
        cast(null as integer) as cause_attempt
    from ledger.free_pieces
    where node_state <> 'available'

    union

    select state, cause, cause_job, cause_attempt
    from ledger.idle_pieces
)

select charge_id, state, cause, cause_job, cause_attempt
from intervals.charges

union all

select
    (select count(*) from intervals.charges)
    + row_number() over (order by state, cause, cause_job, cause_attempt) as charge_id,
    state,
    cause,
    cause_job,
    cause_attempt
from others
