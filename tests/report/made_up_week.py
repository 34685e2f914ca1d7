"""A small built warehouse for the report's tests: a week of a made-up fleet.

It builds an empty lake, puts a deterministic week into the ledger and the staged tables, and runs
what stands on them again, so that the tests see the report alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
from booked import put
from tables import replacement

from goodput.lake import Lake
from goodput.warehouse.build import build, set_variables
from goodput.warehouse.connection import connect
from goodput.warehouse.estimates import fill_intervals
from goodput.warehouse.models import find_models
from goodput.window import Window

WEEK = Window.of_week("2026-W48")
GPUS = 8
UNITS = 5040
SECONDS = 7 * 86400


@dataclass
class Fleet:
    """Rows by table while the week is being made up."""

    draw: random.Random
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    jobs: int = 0

    def add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append({"cluster": "lab", **row})


FAULTS = (  # class, domain, source, confidence, weight
    ("gpu.lost", "infra", "xid", 95, 4),
    ("net.fabric", "infra", "kernel", 80, 2),
    ("host.lost", "infra", "k8s", 75, 2),
    ("app.code", "app", "log", 90, 3),
    ("app.oom_gpu", "app", "log", 90, 2),
    ("plat.preempt", "platform", "k8s", 95, 2),
    ("unk.comm", "unknown", "log", 0, 2),
)


def domain_of(cause: str | None) -> str | None:
    """The domain of a class, by the first part of its name."""
    if cause is None:
        return None
    prefix = cause.split(".")[0]
    names = {"plat": "platform", "app": "app", "unk": "unknown", "base": "baseline"}
    return names.get(prefix, "infra")


def instant(second: int) -> datetime:
    """The instant this many seconds into the week."""
    return WEEK.start + timedelta(seconds=second)


def milliseconds(second: int) -> int:
    """The same as epoch milliseconds."""
    return int(instant(second).timestamp()) * 1000


def make_fleet(gangs: int, seed: int = 7) -> Fleet:
    """A week of `gangs` groups of four nodes, each running one job after the other."""
    fleet = Fleet(random.Random(seed))
    for gang in range(gangs):
        pool = "h100" if gang < gangs * 2 // 3 else "a100"
        nodes = [f"{pool}-{gang * 4 + i:02d}" for i in range(4)]
        for node in nodes:
            fleet.add(
                "staged.nodes",
                node_uid=f"uid-{node}",
                name=node,
                pool=pool,
                gpus=GPUS,
                registered_at=instant(-86400),
                ready_at=instant(-86000),
            )
        fill_gang(fleet, pool, nodes)
    return fleet


def fill_gang(fleet: Fleet, pool: str, nodes: list[str]) -> None:
    """Books every second of four nodes: idle, attempts, faults, repairs."""
    now = 0
    while now < SECONDS:
        idle = min(now + fleet.draw.randrange(600, 9000), SECONDS)
        queued = fleet.draw.random() < 0.6
        state, cause = ("I.sched_delay", "plat.sched") if queued else ("I.no_demand", None)
        book(fleet, pool, nodes, now, idle, state, cause)
        now = idle
        if now < SECONDS:
            now = run_job(fleet, pool, nodes, now)
    for node in nodes:
        note_health(fleet, pool, node)


def run_job(fleet: Fleet, pool: str, nodes: list[str], now: int) -> int:
    """One job with as many attempts as its luck needs; returns when it is over."""
    fleet.jobs += 1
    team = ("vision", "speech", "agents")[fleet.jobs % 3]
    job = f"uid-{fleet.jobs:04d}"
    outcome, cause = "running", "base.overhead"
    for attempt in range(1, 5):
        if now >= SECONDS:
            break
        began = now
        now, outcome, cause = run_attempt(fleet, pool, nodes, now, job, attempt, cause)
        note_attempt(fleet, nodes, {"job": job, "attempt": attempt}, began, now, outcome)
        if outcome in ("succeeded", "app"):
            break
    is_over = now < SECONDS and outcome in ("succeeded", "app")
    fleet.add(
        "staged.jobs",
        job=job,
        kind="training",
        state={"succeeded": "succeeded", "app": "failed"}.get(outcome, "running")
        if is_over
        else "running",
        ended_at=instant(now) if is_over else None,
        name=f"{team}-run-{fleet.jobs:02d}",
        namespace=f"team-{team}",
        team=team,
    )
    return now


def note_attempt(
    fleet: Fleet, nodes: list[str], held: dict[str, Any], began: int, ended: int, outcome: str
) -> None:
    is_over = ended < SECONDS
    fleet.add(
        "staged.attempts",
        **held,
        started_at=instant(began),
        ended_at=instant(ended) if is_over else None,
        outcome={"app": "failed"}.get(outcome, outcome) if is_over else "running",
    )
    attempt_id = len(fleet.rows["staged.attempts"])
    if attempt_id % 20 == 1:
        note_slowness(fleet, nodes, attempt_id, held, began)
    fleet.add(
        "intervals.lineage_attempts",
        attempt_id=attempt_id,
        **held,
        ended_ms=milliseconds(ended) if is_over else None,
    )
    fleet.rows.setdefault("intervals.attempt_pace", []).append(
        {"attempt_id": attempt_id, "record_count": 1}
    )
    for rank, node in enumerate(nodes):
        fleet.add(
            "staged.pods",
            **held,
            pod_uid=f"pod-{held['job']}-{held['attempt']}-{rank}",
            node_uid=f"uid-{node}",
            gpus=GPUS,
            role="worker",
            rank=rank,
        )


def note_slowness(
    fleet: Fleet, nodes: list[str], attempt_id: int, held: dict[str, Any], began: int
) -> None:
    """An hour of steps that took a quarter longer, laid to a node that others are slow with."""
    node = f"uid-{nodes[-1]}"
    fleet.add(
        "intervals.slow_segments",
        **held,
        attempt_id=attempt_id,
        zone=1,
        setting_id=1,
        started_ms=milliseconds(began + 600),
        ended_ms=milliseconds(began + 4200),
        record_count=288,
        median_ms=12_500,
        baseline_ms=10_000,
        **{"class": "gpu.thermal"},
        basis="rank",
        node_uid=node,
        confidence=60,
    )
    fleet.rows.setdefault("intervals.slow_suspects", [])
    if all(row["node_uid"] != node for row in fleet.rows["intervals.slow_suspects"]):
        fleet.add(
            "intervals.slow_suspects",
            node_uid=node,
            gangs_with=4,
            slow_with=4,
            gangs_without=5,
            slow_without=0,
            p_value=0.008,
        )


def run_attempt(
    fleet: Fleet, pool: str, nodes: list[str], now: int, job: str, attempt: int, cause: str
) -> tuple[int, str, str]:
    """Books one attempt and what follows its end."""
    held = {"job": job, "attempt": attempt}
    for state, length in (("A.startup", 90), ("A.gang_wait", 60), ("A.init", 240)):
        now = book(fleet, pool, nodes, now, now + length, state, cause, **held)
    if attempt > 1:
        now = book(fleet, pool, nodes, now, now + 180, "A.restore", cause, **held)
    for _ in range(fleet.draw.randrange(2, 11)):
        now = book(fleet, pool, nodes, now, now + 3400, "A.productive.committed", None, **held)
        now = book(fleet, pool, nodes, now, now + 200, "A.ckpt_save", "base.overhead", **held)
        fleet.add("staged.checkpoints", **held, step=now // 10, committed_at=instant(now))
    if fleet.draw.random() < 0.5 or now >= SECONDS:
        now = book(fleet, pool, nodes, now, now + 30, "A.teardown", "base.overhead", **held)
        return now, "succeeded" if now < SECONDS else "running", cause
    return fail_attempt(fleet, pool, nodes, now, held)


def fail_attempt(
    fleet: Fleet, pool: str, nodes: list[str], now: int, held: dict[str, Any]
) -> tuple[int, str, str]:
    """Books lost work, the hang before it was noticed, and the outage of one node."""
    weights = [fault[-1] for fault in FAULTS]
    cause, domain, source, confidence, _ = fleet.draw.choices(FAULTS, weights)[0]
    lost = fleet.draw.randrange(200, 3000)
    hang = 900 if cause in ("net.fabric", "unk.comm") else 0
    began = now
    now = book(fleet, pool, nodes, now, now + lost, "A.lost.recompute", cause, **held)
    now = book(fleet, pool, nodes, now, now + hang, "A.hang", cause, **held)
    if now >= SECONDS:
        return now, "running", cause
    note_interruption(fleet, nodes, now, held, (cause, domain, source, confidence), now - began)
    now = book(fleet, pool, nodes, now, now + 40, "A.teardown", cause, **held)
    if domain == "infra":
        back = min(now + fleet.draw.randrange(1800, 9000), SECONDS)
        book(fleet, pool, nodes[:1], now, back, "U.repair.reboot", cause)
        book(fleet, pool, nodes[1:], now, back, "I.shortfall", cause)
        note_outage(fleet, nodes[0], now, back, cause)
        now = back
    return now, "app" if domain == "app" else "failed", cause


def note_interruption(
    fleet: Fleet,
    nodes: list[str],
    now: int,
    held: dict[str, Any],
    fault: tuple[str, str, str, int],
    lost_seconds: int,
) -> None:
    cause, domain, source, confidence = fault
    node = f"uid-{nodes[0]}" if domain == "infra" else None
    fleet.add("intervals.attribution", **held, **{"class": cause}, node_uid=node)
    incident = f"{held['job']}/{held['attempt']}"
    fleet.add("intervals.incident_members", **held, node_uid=node, incident=incident)
    fleet.add(
        "ledger.interruptions",
        **held,
        at=instant(now),
        outcome="preempted" if cause == "plat.preempt" else "failed",
        **{"class": cause},
        domain=domain,
        confidence=confidence,
        competing=["net.eth"] if cause == "net.fabric" else [],
        node_uid=node,
        rule="S2 strongest evidence",
        lost_gpu_ms=lost_seconds * 1000 * GPUS * len(nodes),
    )
    for index in range(3):
        fleet.add(
            "ledger.evidence",
            **held,
            observed_ms=milliseconds(now) - 4000 + index * 1000,
            source=source,
            value="NVRM: Xid (PCI:0000:4e:00): 79, GPU has fallen off the bus.",
            **{"class": cause},
            role="root" if index == 0 else "cascade",
            strength=3 - index,
            node_uid=f"uid-{nodes[0]}",
            rank=index,
            is_picked=index == 0,
            origin="logs/worker-0.log",
            origin_line=1200 + index,
        )


def note_outage(fleet: Fleet, node: str, start: int, end: int, cause: str) -> None:
    for gpu in range(GPUS):
        fleet.add(
            "ledger.outages",
            node_uid=f"uid-{node}",
            gpu=gpu,
            started_ms=milliseconds(start),
            ended_ms=milliseconds(end),
            **{"class": cause},
            planned=False,
            action="reboot",
        )


def note_health(fleet: Fleet, pool: str, node: str) -> None:
    """Device health of one node for the week, from the outages already noted."""
    outages = sorted(
        {
            (row["started_ms"], row["ended_ms"])
            for row in fleet.rows.get("ledger.outages", [])
            if row["node_uid"] == f"uid-{node}"
        }
    )
    edges = [edge for outage in outages for edge in outage]
    cuts = [milliseconds(0), *edges, milliseconds(SECONDS)]
    for index, (start, end) in enumerate(pairwise(cuts)):
        for gpu in range(GPUS):
            if end > start:
                fleet.add(
                    "ledger.device_health",
                    node_uid=f"uid-{node}",
                    pool=pool,
                    gpu=gpu,
                    started_ms=start,
                    ended_ms=end,
                    node_state="repair.reboot" if index % 2 else "available",
                    in_service=True,
                    ok_closed=index % 2 == 0,
                    ok_open=index % 2 == 0,
                    planned=False,
                )


def book(
    fleet: Fleet,
    pool: str,
    nodes: list[str],
    start: int,
    end: int,
    state: str,
    cause: str | None,
    **held: Any,
) -> int:
    """Adds ledger rows of all GPUs of these nodes; returns the end, clipped to the week."""
    end = min(end, SECONDS)
    if end <= start:
        return end
    for node in nodes:
        for gpu in range(GPUS):
            fleet.add(
                "ledger.gpu_time",
                node_uid=f"uid-{node}",
                node_name=node,
                pool=pool,
                gpu=gpu,
                started_at=instant(start),
                ended_at=instant(end),
                unit_ms=(end - start) * 1000 * UNITS,
                state=state,
                cause=cause,
                domain=domain_of(cause),
                node_state="repair.reboot" if state.startswith("U.") else "available",
                confidence=0 if cause == "unk.comm" else 90 if cause else None,
                **held,
            )
    return end


def write_warehouse(folder: Path, *, gangs: int = 6) -> Path:
    """Makes the database file of a built week in an empty folder and returns its path."""
    lake = Lake.open(str(folder / "lake"), create=True)
    as_of = datetime(2026, 12, 2, tzinfo=UTC)
    path = build(lake, WEEK, as_of, target=folder / "week.duckdb").database
    fleet = make_fleet(gangs)
    con = connect(path)
    try:
        set_variables(con, WEEK, as_of, {})
        for table, rows in fleet.rows.items():
            frame = pl.DataFrame(rows, infer_schema_length=None).to_arrow()
            con.register("made_up", frame)
            put(con, table, "made_up")
            con.unregister("made_up")
        remake_report(con)
    finally:
        con.close()
    return path


def remake_report(con: duckdb.DuckDBPyConnection) -> None:
    """Runs what stands on the book again: its totals, rollups, metrics and the report's tables."""
    for model in find_models():
        if model.schema in ("rollups", "metrics", "report") or model.name == "window_totals":
            con.execute(replacement(model))
    fill_intervals(con)
