-- Share of the spans of rollups.waits that last longer than span_ms: Kaplan and Meier's estimate, with
-- those that began before the window entering late. low and high are the 95 % interval, from
-- Greenwood's variance on the log-log scale; null once nobody is left.
--
-- grain: cluster, measure, scope, scope_value, span_ms

with moves as (
    select
        cluster,
        measure,
        scope,
        scope_value,
        span_ms,
        0 as entered_count,
        1 as left_count,
        cast(is_event as integer) as event_count
    from rollups.waits

    union all

    -- Who enters at an age is at risk from just after it; at age 0 from the beginning.
    select
        cluster,
        measure,
        scope,
        scope_value,
        case when entered_ms = 0 then -1 else entered_ms end,
        1,
        0,
        0
    from rollups.waits
),

ages as (
    select
        cluster,
        measure,
        scope,
        scope_value,
        span_ms,
        sum(entered_count) as entered_count,
        sum(left_count) as left_count,
        sum(event_count) as event_count
    from moves
    group by cluster, measure, scope, scope_value, span_ms
),

risks as (
    select
        cluster,
        measure,
        scope,
        scope_value,
        span_ms,
        event_count,
        left_count,
        coalesce(sum(entered_count - left_count) over earlier, 0) as risk_count
    from ages
    window earlier as (
        partition by cluster, measure, scope, scope_value
        order by span_ms
        rows between unbounded preceding and 1 preceding
    )
),

curves as (
    select
        cluster,
        measure,
        scope,
        scope_value,
        span_ms,
        cast(risk_count as bigint) as risk_count,
        cast(event_count as bigint) as event_count,
        product(
            case when event_count > 0 then 1 - event_count / risk_count else 1 end
        ) over until as survival,
        sum(
            case
                when event_count > 0
                    then event_count / nullif(risk_count * (risk_count - event_count), 0)
                else 0
            end
        ) over until as variance,
        bool_or(event_count > 0 and event_count = risk_count) over until as is_over
    from risks
    where left_count > 0
    window until as (
        partition by cluster, measure, scope, scope_value
        order by span_ms
        rows between unbounded preceding and current row
    )
),

-- The quantile of the normal distribution for 95 %.
spreads as (
    select
        *,
        1.959963984540054 * sqrt(variance) / nullif(abs(ln(nullif(survival, 0))), 0) as spread
    from curves
)

select
    cluster,
    measure,
    scope,
    scope_value,
    span_ms,
    risk_count,
    event_count,
    case when is_over then 0 else survival end as survival,
    case
        when is_over then null
        when spread is null then survival
        else power(survival, exp(spread))
    end as low,
    case
        when is_over then null
        when spread is null then survival
        else power(survival, exp(-spread))
    end as high
from spreads
