"""The simulated week as typed tables, straight from the simulation: no artefact, no collector.

Together with the true ledger this tests the accounting alone. Shares nothing with the writers.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from goodput.synth.fleet import UNITS
from goodput.synth.plan import Fleet
from goodput.synth.trainlogs import checkpoint_root

PHASES = {"ckpt": "ckpt_save", "eval": "eval", "restore": "restore"}


def iso(t):
    return None if t is None else datetime.fromtimestamp(t, UTC).isoformat()


def span(start, end):
    return {"from": iso(start), "to": iso(end)}


def write_typed_tables(fleet: Fleet, out: Path) -> None:
    out.mkdir(parents=True)
    for table, rows in _tables(fleet).items():
        (out / f"{table}.ndjson").write_text("".join(json.dumps(r) + "\n" for r in rows))


def _tables(fleet):
    jobs = fleet.sim.jobs
    attempts = [a for j in jobs for a in j.attempts]
    return {
        **_node_tables(fleet),
        "jobs": [_job(j) for j in jobs],
        "attempts": [
            {
                "job": a.job.uid,
                "attempt": a.number,
                "start": iso(a.bound),
                "end": iso(a.end),
                "outcome": a.outcome,
            }
            for a in attempts
            if a.bound
        ],
        "pods": [_pod(p) for p in fleet.sim.pods if p.bound],
        "queue": [*_ended_waits(jobs), *_open_waits(fleet)],
        "steps": [
            {
                "job": a.job.uid,
                "attempt": a.number,
                "first": r.first,
                "last": r.last,
                "start": iso(r.start),
                "end": iso(r.end),
            }
            for a in attempts
            for r in a.records
        ],
        "phases": [
            {
                "job": a.job.uid,
                "attempt": a.number,
                "kind": PHASES[kind],
                "start": iso(start),
                "end": iso(end),
            }
            for a in attempts
            for start, end, kind, _, _ in a.segments
            if kind in PHASES
        ],
        "checkpoints": [
            {
                "job": j.uid,
                "attempt": c.attempt,
                "step": c.step,
                "write_start": iso(c.start),
                "committed_at": iso(c.committed),
                "invalid_at": iso(c.committed) if c.corrupt else None,
            }
            for j in jobs
            for c in j.checkpoints
        ],
        "markers": [
            {"job": a.job.uid, "attempt": a.number, "t": iso(t), "kind": "rollback"}
            for a in attempts
            for t, _, text in a.lines
            if "rolling back" in text
        ],
        "evidence": [*_kernel_evidence(fleet), *_log_evidence(attempts)],
    }


def _node_tables(fleet):
    nodes = fleet.sim.all_nodes
    return {
        "nodes": [
            {
                "node_uid": n.uid,
                "name": n.name,
                "pool": n.pool,
                "gpus": n.gpus,
                "registered_at": iso(n.created),
                "ready_at": iso(n.ready_at),
                "deleted_at": iso(n.deleted),
                "replaces_cause": n.log[0].cause or None,
            }
            for n in nodes
        ],
        "node_conditions": [
            {"node_uid": n.uid, "type": kind, "status": value[0], "reason": value[1]} | span(a, b)
            for n in nodes
            for kind in sorted({k for s in n.history for k in s.conds})
            for a, b, value in _runs(n.history, lambda s, kind=kind: s.conds.get(kind))
        ],
        "node_admin": [
            {"node_uid": n.uid, "kind": "cordon"} | span(a, b)
            for n in nodes
            for a, b, _ in _runs(n.history, lambda s: s.cordoned)
        ]
        + [
            {
                "node_uid": t.node.uid,
                "kind": t.kind,
                "planned": t.planned,
                "action": t.action or None,
            }
            | span(t.start, t.end if t.end < fleet.sim.stop else None)
            for t in fleet.sim.trace.tickets
        ],
        "health_checks": [_beats(fleet, n) for n in nodes],
        "commitments": [
            {"pool": p.name, "gpus": p.reserved} | span(fleet.sim.start, fleet.sim.stop)
            for p in fleet.sim.pools.values()
            if p.reserved
        ],
    }


def _runs(history, value):
    """Maximal spans in which `value` of the snapshot is the same and not empty."""
    runs, open_since = [], None
    for before, here in zip([None, *history], history, strict=False):
        was, now = (value(before) if before else None), value(here)
        if was and was != now:
            runs.append((open_since, here.start, was))
        if now and was != now:
            open_since = here.start
    if value(history[-1]):
        runs.append((open_since, None, value(history[-1])))
    return runs


def _beats(fleet, node):
    beats, at = [], -(-max(node.ready_at, node.created) // 60) * 60
    for silent, last, back in fleet.sim.trace.silent:
        if silent is node:
            beats.append([iso(at), iso(last), 60])
            at = back
    stop = node.deleted or fleet.sim.stop
    return {
        "node_uid": node.uid,
        "check": "dcgm-health",
        "required": True,
        "stale_after_s": 600,
        "beats": [*beats, [iso(at), iso(stop), 60]] if at < stop else beats,
    }


def _job(job):
    return {
        "job": job.uid,
        "kind": "training",
        "state": job.state,
        "ended_at": iso(job.ended),
        "lineage": checkpoint_root(job),
        "name": job.spec.name,
        "namespace": job.spec.namespace,
        "team": job.spec.team,
    }


def _pod(pod):
    ran = pod.running is not None and (pod.released is None or pod.running <= pod.released)
    return {
        "pod_uid": pod.uid,
        "name": pod.name,
        "namespace": pod.namespace,
        "job": pod.job.uid if pod.job else None,
        "attempt": pod.attempt if pod.job else None,
        "node_uid": pod.node.uid,
        "gpus": pod.gpus,
        "devices": list(pod.devices),
        "share": None if pod.units == UNITS else f"{pod.units}/{UNITS}",
        "rank": pod.rank,
        "bound_at": iso(pod.bound),
        "running_at": iso(pod.running) if ran else None,
        "terminated_at": iso(pod.terminated),
        "released_at": iso(pod.released),
        "exit_code": pod.exit_code,
        "reason": pod.reason or None,
        "disruption": pod.disruption[1] if pod.disruption else None,
    }


def _wait(job, attempt, start, end):
    spec = job.spec
    return {
        "job": job.uid,
        "attempt": attempt,
        "pool": spec.pool,
        "pods": spec.pods,
        "gpus_per_pod": spec.gpus_per_pod,
    } | span(start, end)


def _ended_waits(jobs):
    return [_wait(j, number, start, end) for j in jobs for start, end, number in j.queue]


def _open_waits(fleet):
    return [_wait(a.job, a.number, a.queued, None) for a in fleet.sim.queue]


def _kernel_evidence(fleet):
    for t, node, text in fleet.sim.trace.kernel:
        xid = re.search(r"Xid \(PCI:[^)]*\): (\d+)", text)
        source, value = ("xid", xid[1]) if xid else ("kernel", text)
        yield {"t": iso(t), "source": source, "value": value, "node_uid": node.uid}


def _log_evidence(attempts):
    for attempt in attempts:
        for t, rank, text in attempt.lines:
            bare = re.sub(r"^\[rank\d+\]: ", "", text)
            if re.match(r"[\w.]+Error: |\[rank\d+\]:\[E ", bare):
                yield {
                    "t": iso(t),
                    "source": "log",
                    "value": bare,
                    "pod_uid": attempt.pods[rank].uid,
                    "job": attempt.job.uid,
                    "attempt": attempt.number,
                    "rank": rank * 8,
                }
