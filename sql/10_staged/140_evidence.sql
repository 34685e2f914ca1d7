-- Observations that may explain a failure, each with class, role and strength [4.2].
--
-- Times are corrected by the clock of the node (kernel, XID) or of the attempt (log). A line that
-- no signature knows explains nothing and is left out here; report.unclassified counts such lines.
--
-- grain: row
-- nothing without: gathered.evidence

with given as (
    select distinct
        cluster,
        source,
        value,
        node_uid,
        gpu,
        pod_uid,
        job,
        attempt,
        rank,
        reason,
        type,
        class,
        t as observed_at,
        "from" as started_at,
        "to" as ended_at,
        origin,
        origin_line
    from gathered.evidence
),

signed as (
    select
        *,
        case when source in ('log', 'kernel') then log_signature(value) end as signature,
        case when source in ('xid', 'sxid', 'exit') then try_cast(value as integer) end as code
    from given
),

coded as (
    select
        signed.* replace (
            coalesce(
                signed.code,
                try_cast(nullif(signature_code(signed.signature, signed.value), '') as integer)
            ) as code
        ),
        sign.class as sign_class,
        sign.role as sign_role,
        sign.strength as sign_strength
    from signed
    left join catalog.log_signatures as sign on signed.signature = sign.id
),

judged as (
    select
        coded.*,
        case when coded.source = 'xid' or coded.sign_class = 'xid.csv' then coded.code end as xid,
        case
            when coded.source = 'slow_rank'
                then {
                    'class': coalesce(known_class(coded.class), 'unk.slow'),
                    'role': 'info',
                    'strength': 0
                }
            -- What the driver says of an error beside its number, such as its severity [4.6].
            when said.class is not null
                then {'class': said.class, 'role': said.role, 'strength': said.strength}
            when coded.source = 'xid' or coded.sign_class = 'xid.csv'
                then {
                    'class': coalesce(xid.class, 'unk.none'),
                    'role': coalesce(xid.role, 'info'),
                    'strength': coalesce(xid.strength, 0)
                }
            when coded.source = 'sxid' or coded.sign_class = 'sxid.csv'
                then {
                    'class': coalesce(sxid.class, 'unk.none'),
                    'role': coalesce(sxid.role, 'info'),
                    'strength': coalesce(sxid.strength, 0)
                }
            when coded.source in ('log', 'kernel')
                then {
                    'class': coded.sign_class,
                    'role': coded.sign_role,
                    'strength': coded.sign_strength
                }
            when coded.source = 'exit' and ended.strength > 0
                then {'class': ended.class, 'role': ended.role, 'strength': ended.strength}
            when coded.source = 'exit'
                then {
                    'class': coalesce(exits.class, 'unk.none'),
                    'role': coalesce(exits.role, 'either'),
                    'strength': coalesce(exits.strength, 0)
                }
            else {'class': rule.class, 'role': rule.role, 'strength': rule.strength}
        end as verdict
    from coded
    left join catalog.xid as xid on coded.code = xid.xid
    left join catalog.sxid as sxid on coded.code = sxid.sxid
    left join catalog.xid_rules as said
        on
            said.rule = 'says'
            and (coded.source = 'xid' or coded.sign_class = 'xid.csv')
            and coded.code = said.xid
            and regexp_matches(concat_ws(' ', coded.value, coded.reason), said.given)
    left join staged.exit_rules as exits on coded.source = 'exit' and coded.code = exits.exit_code
    left join staged.reason_rules as ended
        on
            coded.source = 'exit'
            and ended.scope = 'pod_terminated_reason'
            and coded.reason = ended.reason
    left join staged.reason_rules as rule
        on
            coded.source = rule.scope
            and coded.value = rule.reason
            and coded.type is not distinct from rule.type
            and rule.status is null
)

select
    judged.cluster,
    judged.source,
    judged.value,
    judged.signature,
    judged.xid,
    judged.node_uid,
    judged.gpu,
    judged.pod_uid,
    judged.job,
    judged.attempt,
    judged.rank,
    judged.observed_at
    - to_milliseconds(coalesce(node_clock.offset_ms, log_clock.offset_ms, 0)) as observed_at,
    judged.started_at,
    judged.ended_at,
    judged.verdict.class as class,
    judged.verdict.role as role,
    judged.verdict.strength as strength,
    judged.origin,
    judged.origin_line
from judged
left join staged.clock_offsets as node_clock
    on
        judged.source in ('xid', 'sxid', 'kernel')
        and judged.cluster = node_clock.cluster
        and judged.node_uid = node_clock.node_uid
        and node_clock.job is null
left join staged.clock_offsets as log_clock
    on
        judged.source = 'log'
        and judged.cluster = log_clock.cluster
        and judged.job = log_clock.job
        and judged.attempt = log_clock.attempt
where
    judged.verdict.class is not null
    and coalesce(
        judged.observed_at
        - to_milliseconds(coalesce(node_clock.offset_ms, log_clock.offset_ms, 0)),
        judged.started_at
    ) <= getvariable('as_of')
