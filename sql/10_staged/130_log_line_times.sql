-- Raw log lines with naive local times, placed in UTC [0.6].
--
-- In the repeated hour at the end of summer time the first pass is assumed, until a line goes back
-- in time: from there on it is the second pass. File order is trusted for this, and only for this.
--
-- grain: row

with numbered as (
    select
        cluster,
        job,
        attempt,
        tz,
        row_id,
        unnest(lines) as line,
        unnest(range(len(lines))) as line_number
    from (
        select distinct
            cluster,
            job,
            attempt,
            tz,
            lines,
            coalesce(row_id, md5(lines::varchar)) as row_id
        from gathered.step_logs
        -- Lines of a zone that nobody knows cannot be placed; a check tells of them.
        where lower(tz) in (select lower(name) from pg_timezone_names())
    )
),

parsed as (
    select
        *,
        try_cast(
            regexp_extract(line, '^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?') as timestamp
        ) as naive_at,
        try_cast(nullif(regexp_extract(line, 'step=(\d+)', 1), '') as bigint) as step
    from numbered
),

candidates as (
    select
        *,
        list_filter(
            [timezone(tz, naive_at) + shift for shift in [
                interval '-2 hours', interval '-1 hour', interval '-30 minutes', interval '0 hours',
                interval '30 minutes', interval '1 hour', interval '2 hours'
            ]],
            lambda instant: timezone(tz, instant) = naive_at
        ) as instants
    from parsed
    where naive_at is not null
),

folds as (
    select
        * exclude (instants),
        list_min(instants) as first_pass_at,
        list_max(instants) as second_pass_at
    from candidates
),

turns as (
    select
        *,
        first_pass_at <> second_pass_at as is_repeated,
        coalesce(first_pass_at < lag(first_pass_at) over in_file, false) as goes_back,
        sum(case when first_pass_at = second_pass_at then 1 else 0 end)
            over in_file as unambiguous_before
    from folds
    window in_file as (partition by cluster, job, attempt, row_id order by line_number)
)

select
    cluster,
    job,
    attempt,
    row_id,
    line_number,
    step,
    case
        when is_repeated and bool_or(goes_back) over (
            partition by cluster, job, attempt, row_id, unambiguous_before
            order by line_number
        ) then second_pass_at
        else first_pass_at
    end as logged_at
from turns
