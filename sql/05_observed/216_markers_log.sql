-- Restarts without a new pod set, and rollbacks by choice, that logs tell of.
--
-- The cause of a restart in place is the strongest root evidence since the last one; of equals, the
-- lowest precedence.
--
-- grain: row

with restores as (
    select *
    from raw.log_restores
    qualify row_number() over (
        partition by cluster, log_id, line
        order by ingested_at desc nulls last, run_id desc, row_id
    ) = 1
),

-- Where an attempt's first part begins, its process does, too; later parts are restarts in place.
restarts as (
    select attempts.*, attempts.started_at as restarted_at
    from observed.log_attempts as attempts
    qualify
        row_number() over (
            partition by attempts.cluster, attempts.job, attempts.attempt, attempts.log_id
            order by attempts.segment
        ) > 1

    union all by name

    select attempts.*, restores.restored_at as restarted_at
    from restores
    inner join observed.log_attempts as attempts using (cluster, log_id, segment)
    where restores.in_process
),

in_stream as (
    select restarts.*
    from restarts
    inner join observed.step_streams as streams
        on
            restarts.cluster = streams.cluster
            and restarts.job = streams.job
            and restarts.attempt = streams.attempt
            and restarts.stream = streams.stream
    where restarts.restarted_at is not null
),

evidence as (
    select
        attempts.cluster,
        attempts.job,
        attempts.attempt,
        found.observed_at,
        signature.class,
        signature.strength,
        signature.precedence
    from raw.log_evidence as found
    inner join observed.log_attempts as attempts using (cluster, log_id, segment)
    inner join catalog.log_signatures as signature on found.signature = signature.id
    where
        signature.role in ('root', 'either')
        and signature.strength >= 1
),

causes as (
    select
        in_stream.cluster, in_stream.job, in_stream.attempt, in_stream.restarted_at, evidence.class
    from in_stream
    inner join evidence using (cluster, job, attempt)
    where
        evidence.observed_at <= in_stream.restarted_at
        and evidence.observed_at
        >= in_stream.restarted_at - to_seconds(getvariable('attrib_before_s'))
    qualify row_number() over (
        partition by in_stream.cluster, in_stream.job, in_stream.attempt, in_stream.restarted_at
        order by evidence.strength desc, evidence.precedence
    ) = 1
)

select
    in_stream.cluster,
    in_stream.job,
    in_stream.attempt,
    in_stream.restarted_at as t,
    case when causes.class = 'user.rollback' then 'rollback' else 'restart' end as kind,
    causes.class as cause,
    in_stream.ingested_at,
    in_stream.ingested_from,
    in_stream.run_id,
    md5(concat_ws('|', 'restart of log', in_stream.log_id, ms_of(in_stream.restarted_at)))
        as row_id
from in_stream
left join causes using (cluster, job, attempt, restarted_at)
qualify row_number() over (
    partition by in_stream.cluster, in_stream.job, in_stream.attempt, in_stream.restarted_at
    order by in_stream.log_id, in_stream.segment
) = 1
