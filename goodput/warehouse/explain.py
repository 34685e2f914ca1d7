"""From a number back to its reasons: the timeline of a job or node, the evidence for each loss."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import duckdb

from goodput.errors import UsageError
from goodput.warehouse.named import find, known, unknown

Row = dict[str, Any]

_ATTEMPT = re.compile(r"(?P<job>.+)/(?P<attempt>-?\d{1,9})", re.DOTALL | re.ASCII)
_GPU_HOURS = "sum(unit_ms) / (5040 * 3600000.0)"

# First what each device did without a break, then devices that did the same at the same time as one
# line. Two pods may share a device, so pieces of a device may overlap.
_TIMELINE = f"""
    with pieces as (
        select
            *,
            coalesce(started_at > max(ended_at) over (
                partition by {{keys}}, state, cause, confidence, node_uid, gpu
                order by started_at, ended_at rows between unbounded preceding and 1 preceding
            ), true) as begins
        from ledger.gpu_time
        where {{filter}} and ($attempt::integer is null or attempt = $attempt)
    ),

    numbered as (
        select
            *,
            sum(case when begins then 1 else 0 end) over (
                partition by {{keys}}, state, cause, confidence, node_uid, gpu
                order by started_at, ended_at rows between unbounded preceding and current row
            ) as island
        from pieces
    ),

    devices as (
        select
            {{keys}}, state, cause, domain, confidence, node_uid, node_name, gpu,
            min(started_at) as started_at, max(ended_at) as ended_at, sum(unit_ms) as unit_ms
        from numbered
        group by {{keys}}, state, cause, domain, confidence, node_uid, node_name, gpu, island
    )

    select
        {{keys}}, started_at, ended_at, state, cause, domain, confidence,
        count(*) as gpus, list(distinct node_name order by node_name) as nodes,
        {_GPU_HOURS} as gpu_hours
    from devices
    group by {{keys}}, started_at, ended_at, state, cause, domain, confidence
    order by started_at, ended_at, {{keys}}, state, cause
"""

_TOTALS = f"""
    select state, cause, {_GPU_HOURS} as gpu_hours
    from ledger.gpu_time
    where {{filter}} and ($attempt::integer is null or attempt = $attempt)
    group by state, cause
    order by gpu_hours desc, state, cause
"""

# What it was for: work, what a cause took, or what nothing is charged with.
_SUMS = f"""
    select
        case
            when state like 'A.productive%' then 'productive'
            when cause is null then state
            when cause = 'base.overhead' then 'normal overhead'
            else 'lost to ' || cause
        end as spent_on,
        {_GPU_HOURS} as gpu_hours,
        sum(unit_ms) / sum(sum(unit_ms)) over () as share
    from ledger.gpu_time
    where {{filter}} and ($attempt::integer is null or attempt = $attempt)
    group by spent_on
    order by gpu_hours desc, spent_on
"""

_NODE_NAME = """coalesce((
        select any_value(node.name)
        from staged.nodes as node
        where node.cluster = {0}.cluster and node.node_uid = {0}.node_uid
    ), {0}.node_uid) as node_name"""

_INTERRUPTIONS = f"""
    select
        job, attempt, "at" as occurred_at, outcome, class, domain, confidence, confidence_terms,
        competing, node_uid, {_NODE_NAME.format("interruptions")},
        rule, incident, caused_by, caused_by_job, caused_by_attempt,
        lost_gpu_ms / 3600000.0 as lost_gpu_hours
    from ledger.interruptions
    where {{filter}} and ($attempt::integer is null or attempt = $attempt)
    order by occurred_at, job, attempt
"""

# Also what others waited for: an end is charged with it, and the job's own hours lack it.
_COSTS = f"""
    select
        state,
        case
            when job = cause_job then 'its own'
            when job is null then 'idle'
            else 'of other jobs'
        end as whose,
        {_GPU_HOURS} as gpu_hours
    from ledger.group_time
    where cluster = $cluster and cause_job = $job and cause_attempt = $attempt
    group by state, whose
    order by whose, gpu_hours desc, state
"""

_EVIDENCE = f"""
    select
        make_timestamptz(observed_ms * 1000) as observed_at, source, value, class, role, strength,
        node_uid, {_NODE_NAME.format("evidence")}, pod_uid, rank, is_picked, origin, origin_line
    from ledger.evidence
    where cluster = $cluster and job = $job and attempt = $attempt
    order by is_picked desc, observed_at, source, value
"""

_OUTAGES = """
    select
        gpu, make_timestamptz(started_ms * 1000) as started_at,
        make_timestamptz(ended_ms * 1000) as ended_at, class, planned, action, incident,
        lost_gpu_ms / 3600000.0 as lost_gpu_hours
    from ledger.outages
    where cluster = $cluster and node_uid = $key
    order by started_ms, gpu nulls first
"""

_INCIDENTS = """
    select
        incident, class, started_at, topology, nodes, jobs, interruption_count, outage_count,
        lost_gpu_ms / 3600000.0 as lost_gpu_hours
    from ledger.incidents
    where cluster = $cluster and list_contains($incidents::varchar[], incident)
    order by started_at, incident
"""

_SLOW_SEGMENTS = f"""
    select
        job, attempt, make_timestamptz(started_ms * 1000) as started_at,
        make_timestamptz(ended_ms * 1000) as ended_at, record_count, median_ms, baseline_ms, class,
        basis, confidence, node_uid, {_NODE_NAME.format("slow_segments")},
        lost_ms / 1000.0 as lost_seconds,
        low_ms / 1000.0 as low_seconds, high_ms / 1000.0 as high_seconds
    from meta.build, intervals.slow_segments
    left join rollups.slow_losses using (attempt_id, zone, setting_id)
    where {{filter}} and ($attempt::integer is null or attempt = $attempt)
    and started_at < window_end and ended_at > window_start
    order by started_at, job, attempt
"""

_LAST_LOOKS = """
    select job, attempt, root, looked_at, seen_at, known_until
    from staged.log_looks, meta.build
    where {filter} and ($attempt::integer is null or attempt = $attempt)
    and known_until < least(as_of, window_end)
    order by job, attempt
"""

_SUSPICIONS = """
    select gangs_with, slow_with, gangs_without, slow_without, p_value
    from intervals.slow_suspects where cluster = $cluster and node_uid = $key
"""

_CONDITIONS = """
    select type, status, reason, gpu, class, started_at, ended_at
    from staged.node_conditions
    where cluster = $cluster and node_uid = $key
    and started_at < coalesce($ended_at, 'infinity'::timestamptz)
    and coalesce(ended_at, 'infinity'::timestamptz) > $started_at
    order by started_at, type
"""

_WINDOW = "select window_start, window_end from meta.build"

_JOB_FACTS = """
    select any_value(name) as name, any_value(namespace) as namespace, any_value(team) as team,
        any_value(state) as state
    from staged.jobs where cluster = $cluster and job = $key
"""

_NODE_FACTS = """
    select any_value(name) as name, any_value(pool) as pool, any_value(gpus) as gpus
    from staged.nodes where cluster = $cluster and node_uid = $key
"""


@dataclass(frozen=True)
class Explanation:
    """Why a job or a node lost what it lost.

    Attributes:
        kind: "job" or "node".
        key: the job's or the node's identity.
        window: start and end of what was accounted for.
        facts: what is known about it, such as its name.
        totals: GPU-hours by state and cause.
        sums: GPU-hours by what they were spent on: work, each cause, normal overhead.
        timeline: what its GPUs did, in order; equal neighbours merged.
        interruptions: attempts that ended badly, each with its `evidence`, and its `costs` by
            state and by whose GPUs it took.
        outages: for a node, when it was not available, each with its `conditions`.
        incidents: what its interruptions and outages were part of, and what else was.
        slow_segments: when its steps, or those it is suspected to hold up, were slow.
        last_looks: for a job, when its logs and pods were last looked at, if the window goes on
            after it.
        suspicions: for a node, in how many gangs with it and without it steps were slow.
    """

    kind: str
    cluster: str
    key: str
    attempt: int | None
    window: Row
    facts: Row
    totals: list[Row]
    timeline: list[Row]
    interruptions: list[Row]
    outages: list[Row] = field(default_factory=list)
    incidents: list[Row] = field(default_factory=list)
    slow_segments: list[Row] = field(default_factory=list)
    suspicions: list[Row] = field(default_factory=list)
    sums: list[Row] = field(default_factory=list)
    last_looks: list[Row] = field(default_factory=list)

    def _repr_html_(self) -> str:
        from goodput.warehouse.explanation_html import explanation_html

        return explanation_html(self)


def explain(con: duckdb.DuckDBPyConnection, target: str) -> Explanation:
    """Explains a job (by key, name or namespace/name), one attempt of it (JOB/3), or a node.

    Raises:
        UsageError: nothing in the build has that name, or several things have it.
    """
    matches: list[tuple[str, int | None, tuple[str, str]]]
    matches = [("job", None, match) for match in find(con, "job", target)]
    if not matches and (named := _ATTEMPT.fullmatch(target)):
        number = int(named["attempt"])
        matches = [("job", number, match) for match in find(con, "job", named["job"])]
    matches = matches or [("node", None, match) for match in find(con, "node", target)]
    if not matches:
        raise unknown("job or node", target, known(con, "job", "node"))
    if len(matches) > 1:
        shown = known(con, matches[0][0])
        listing = ", ".join(f"{shown.get(key, key)} in {where}" for _, _, (where, key) in matches)
        raise UsageError(f"{target!r} names several: {listing}; give the key of one")
    [(kind, attempt, (cluster, key))] = matches
    found = _explain(con, kind, cluster, key, attempt)
    if attempt is not None and not found.timeline and not found.interruptions:
        raise UsageError(f"job {key!r} has no attempt {attempt} in the window that was built last")
    if kind == "node" and not found.timeline:
        raise UsageError(f"node {key!r} was not paid for in the window that was built last")
    return found


def _explain(
    con: duckdb.DuckDBPyConnection, kind: str, cluster: str, key: str, attempt: int | None
) -> Explanation:
    is_job = kind == "job"
    column = "job" if is_job else "node_uid"
    binding = {"cluster": cluster, "key": key, "attempt": attempt}
    condition = f"cluster = $cluster and {column} = $key"
    keys = "attempt" if is_job else "job, attempt"

    def ask(query: str) -> list[Row]:
        return _rows(con, query.format(filter=condition, keys=keys), binding)

    interruptions = [{**row, **_reasons(con, cluster, row)} for row in ask(_INTERRUPTIONS)]
    outages = [] if is_job else _outages(con, binding)
    incidents = [row["incident"] for row in (*interruptions, *outages)]
    return Explanation(
        kind=kind,
        cluster=cluster,
        key=key,
        attempt=attempt,
        window=ask(_WINDOW)[0],
        facts=_rows(con, _JOB_FACTS if is_job else _NODE_FACTS, binding)[0],
        totals=ask(_TOTALS),
        timeline=ask(_TIMELINE),
        interruptions=interruptions,
        outages=outages,
        incidents=_rows(con, _INCIDENTS, {"cluster": cluster, "incidents": incidents}),
        slow_segments=ask(_SLOW_SEGMENTS),
        suspicions=[] if is_job else ask(_SUSPICIONS),
        sums=ask(_SUMS),
        last_looks=ask(_LAST_LOOKS) if is_job else [],
    )


def _reasons(con: duckdb.DuckDBPyConnection, cluster: str, interruption: Row) -> Row:
    """What an end cost, and what tells why it came."""
    binding = {"cluster": cluster, **{name: interruption[name] for name in ("job", "attempt")}}
    return {"costs": _rows(con, _COSTS, binding), "evidence": _rows(con, _EVIDENCE, binding)}


def _outages(con: duckdb.DuckDBPyConnection, binding: Row) -> list[Row]:
    outages = _rows(con, _OUTAGES, binding)
    for outage in outages:
        span = {name: outage[name] for name in ("started_at", "ended_at")}
        outage["conditions"] = _rows(con, _CONDITIONS, {**binding, **span})
    return outages


def _rows(con: duckdb.DuckDBPyConnection, query: str, binding: Row) -> list[Row]:
    """The rows of a query; only the parameters that it names are bound."""
    used = {name: value for name, value in binding.items() if re.search(rf"\${name}\b", query)}
    result = con.execute(query, used)
    names = [column[0] for column in result.description or []]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
