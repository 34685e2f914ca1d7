"""The true ledger of a simulated week, booked from what the simulation did."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from goodput.synth.fleet import UNITS, Attempt, Job, Node, Pod, Record
from goodput.synth.plan import LAST_LIST_S, Fleet
from goodput.synth.trace import Label, lost_state
from goodput.synth.trainlogs import last_line

PRODUCTIVE = "A.productive.committed"
PROVISIONAL = "A.productive.provisional"
UNSEEN = ("A.unknown", "unk.obs_gap")
Piece = tuple[int, int, str, str]
Veils = dict[tuple[str, int], list[tuple[int, int, Label]]]
"""By UID of the node and index of the device: spans, and what an observer has to book there."""


@dataclass(frozen=True)
class Entry:
    """Units of one device in one state over [start, end), epoch seconds.

    `seen` is the state and cause that an observer has to book where this one cannot be seen.
    """

    pool: str
    node: str
    node_uid: str
    device: int
    start: int
    end: int
    units: int
    state: str
    cause: str
    job: str
    seen: Label | None = None

    @property
    def unit_ms(self) -> int:
        """The amount: units times milliseconds."""
        return self.units * (self.end - self.start) * 1000


@dataclass(frozen=True)
class Truth:
    """The ledger of the week and what follows from it."""

    entries: list[Entry]
    paid: int
    succeeded: int
    failed: int
    node_ms: dict[str, tuple[int, int, int]]

    def by_visible_cause(self) -> Counter[Label]:
        """unit_ms per (state, cause) as far as anyone can know from the cluster."""
        total: Counter[Label] = Counter()
        for e in self.entries:
            total[e.seen or (e.state, e.cause)] += e.unit_ms
        return total

    def by_cause(self) -> Counter[Label]:
        """unit_ms per (state, cause)."""
        total: Counter[Label] = Counter()
        for e in self.entries:
            total[e.state, e.cause] += e.unit_ms
        return total


def ledger(fleet: Fleet, veils: Veils | None = None) -> Truth:
    """The truth of the fleet's window.

    Args:
        veils: per device the spans that no observer can tell about; None means those of whoever
            watches everything but in the fleet's hole.
    """
    for job in fleet.sim.jobs:
        _settle(job)
    veils = _veils(fleet) if veils is None else veils
    entries = [
        piece
        for row in _all(fleet)
        if (e := _clip(row, fleet)) is not None
        for piece in _veil(e, veils.get((e.node_uid, e.device), ()))
    ]
    ended = [j.state for j in fleet.sim.jobs if j.ended and fleet.start <= j.ended < fleet.end]
    return Truth(
        entries,
        _paid(fleet),
        ended.count("succeeded"),
        ended.count("failed"),
        _availability(fleet),
    )


def _clip(entry: Entry, fleet: Fleet) -> Entry | None:
    start, end = max(entry.start, fleet.start), min(entry.end, fleet.end)
    if start >= end:
        return None
    if (start, end) == (entry.start, entry.end):
        return entry
    return replace(entry, start=start, end=end)


def _veils(fleet: Fleet) -> Veils:
    """Per device, the spans in which a pod vanished unseen: from its last sign of life, seen or
    printed, to the next list.
    """
    hole = fleet.hole
    veils: Veils = defaultdict(list)
    for pod in fleet.sim.pods:
        if pod.removed is None or pod.node is None or not hole.start <= pod.removed < hole.end:
            continue
        shown = [pod.bound, pod.running, pod.terminated, hole.start - LAST_LIST_S]
        since = max(t for t in shown if t is not None and t < hole.start)
        if pod.job is not None:
            since = max(since, last_line(pod.job.attempts[pod.attempt - 1]))
        for device in pod.devices:
            veils[pod.node.uid, device].append((since, hole.end, UNSEEN))
    return veils


def _veil(entry: Entry, veils: Iterable[tuple[int, int, Label]]) -> Iterator[Entry]:
    """The entry, cut where veils begin and end."""
    at = entry.start
    for begins, ends, seen in sorted(veils):
        start, end = max(begins, at), min(ends, entry.end)
        if start < end:
            if at < start:
                yield replace(entry, start=at, end=start)
            yield replace(entry, start=start, end=end, seen=seen)
            at = end
    if at < entry.end:
        yield replace(entry, start=at)


def _paid(fleet: Fleet) -> int:
    """Paid unit_ms: node life times GPUs, plus what is reserved and not launched."""
    total = 0
    for node in fleet.sim.all_nodes:
        start, end = max(node.created, fleet.start), min(node.deleted or fleet.end, fleet.end)
        total += max(0, end - start) * node.gpus * UNITS * 1000
    for row in fleet.sim.book.rows:
        if row.state == "U.unlaunched":
            start, end = max(row.start, fleet.start), min(row.end, fleet.end)
            total += max(0, end - start) * UNITS * 1000
    return total


def _availability(fleet: Fleet) -> dict[str, tuple[int, int, int]]:
    """Per pool: node milliseconds in service, ok fail-closed, ok with staleness ignored."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for node in fleet.sim.all_nodes:
        ends = [s.start for s in node.log[1:]] + [node.deleted or fleet.end]
        for span, until in zip(node.log, ends, strict=True):
            start, end = max(span.start, fleet.start), min(until, fleet.end)
            if end > start and span.state != "provisioning":
                took = (end - start) * 1000
                sums[node.pool][0] += took
                sums[node.pool][1] += took * span.ok_closed
                sums[node.pool][2] += took * span.ok_open
    return {pool: (a, b, c) for pool, (a, b, c) in sums.items()}


# ---------------------------------------------------------------------- fates


def _settle(job: Job) -> None:
    """Decide what became of the records that were never thrown away."""
    bound = [a for a in job.attempts if a.bound is not None]
    if not bound:
        return
    with_steps = [a for a in bound if a.records]
    own = (with_steps or bound)[-1].cause
    claimed = max(job.claims, default=-1)
    proven = [a.resume or 0 for a in with_steps if a.number > 1]
    safe = max([*job.durable, *proven])
    for record in job.path:
        if job.state == "succeeded" or record.last <= safe:
            record.fate = (PRODUCTIVE, "")
        elif bound[-1].end is None:
            record.fate = (PROVISIONAL, "")
        else:
            cause = "sto.ckpt" if record.last <= claimed else own
            over = job.state in ("failed", "cancelled")
            record.fate = ("A.lost.abandoned", cause) if over else lost_state(cause)


def _carry(attempt: Attempt) -> str:
    earlier = attempt.job.attempts[: attempt.number - 1]
    return earlier[-1].cause if earlier else "base.overhead"


def zero_state(attempt: Attempt, attempts: Iterable[Attempt]) -> str | None:
    """The state of an attempt that ended badly before its first record, among those of its job."""
    if attempt.records or attempt.end is None or attempt.outcome == "succeeded":
        return None
    row = [a for a in attempts if a.bound is not None]
    here = row.index(attempt)
    run = [not a.records and a.end is not None and a.cause.startswith("app.") for a in row]
    neighbours = (here > 0 and run[here - 1]) or (here + 1 < len(row) and run[here + 1])
    return "A.restart_loop" if run[here] and neighbours else "A.lost.failed_start"


def gang_pieces(attempt: Attempt, stop: int) -> list[Piece]:
    """The states of an attempt from gang ready on, in the order of time."""
    return _merged(_gang(attempt, stop))


def _gang(attempt: Attempt, stop: int) -> Iterator[Piece]:
    job = attempt.job
    over = job.state in ("failed", "cancelled") and attempt is job.attempts[-1]
    fate: Label | None = None
    for start, end, kind, record, _ in attempt.segments:
        if kind == "step" and record is not None and record.fate is not None:
            fate = record.fate
            yield from _step(record, start, end)
        elif kind in ("init", "restore"):
            yield start, end, f"A.{kind}", _carry(attempt)
        elif kind == "hang":
            yield start, end, "A.hang", attempt.cause
        elif kind == "tail":
            lost = ("A.lost.abandoned", attempt.cause) if over else lost_state(attempt.cause)
            yield start, end, *lost
        elif fate is not None and fate[0].startswith("A.lost"):
            yield start, end, *fate
        else:
            names = {"ckpt": "A.ckpt_save", "eval": "A.eval"}
            yield start, end, names.get(kind, "A.overhead"), "base.overhead"
    if attempt.end is None:
        yield attempt.at, stop, "A.unknown", ""


def _merged(pieces: Iterator[Piece]) -> list[Piece]:
    """Neighbours in the same state for the same cause become one piece."""
    rows: list[Piece] = []
    for start, end, state, cause in pieces:
        if rows and rows[-1][1:] == (start, state, cause):
            rows[-1] = (rows[-1][0], end, state, cause)
        elif end > start:
            rows.append((start, end, state, cause))
    return rows


def _step(record: Record, start: int, end: int) -> Iterator[Piece]:
    state, cause = record.fate or ("A.unknown", "")
    slow = record.slow if state.startswith("A.productive") else 0
    yield start, end - slow, state, cause
    if slow:
        yield end - slow, end, "A.slow", "gpu.thermal"


# -------------------------------------------------------------------- entries


def _all(fleet: Fleet) -> Iterator[Entry]:
    for row in fleet.sim.book.rows:
        name, uid = (row.node.name, row.node.uid) if row.node else ("", "")
        yield Entry(
            row.pool, name, uid, row.device, row.start, row.end, row.units, row.state, row.cause, ""
        )
    gangs: dict[tuple[str, int], list[Piece]] = {}
    for pod in fleet.sim.pods:
        if pod.bound is not None and pod.node is not None:
            yield from _pod(pod, pod.node, fleet, gangs)


def _pod(
    pod: Pod, node: Node, fleet: Fleet, gangs: dict[tuple[str, int], list[Piece]]
) -> Iterator[Entry]:
    until = pod.released if pod.released is not None else fleet.sim.stop
    job = pod.job.uid if pod.job else ""
    for begins, ends, state, cause in _pod_pieces(pod, node, until, fleet.sim.stop, gangs):
        start, end = max(begins, pod.bound or 0), min(ends, until)
        for device in pod.devices if start < end else ():
            yield Entry(
                pool=node.pool,
                node=node.name,
                node_uid=node.uid,
                device=device,
                start=start,
                end=end,
                units=pod.units,
                state=state,
                cause=cause,
                job=job,
            )


def _pod_pieces(
    pod: Pod, node: Node, until: int, stop: int, gangs: dict[tuple[str, int], list[Piece]]
) -> Iterator[Piece]:
    assert pod.bound is not None
    if pod.job is None:
        yield pod.bound, until, "A.other", ""
        return
    attempt = pod.job.attempts[pod.attempt - 1]
    end = attempt.end if attempt.end is not None else stop
    zero = zero_state(attempt, pod.job.attempts)
    running, ready = pod.running or end, attempt.ready or end
    if zero:
        yield pod.bound, end, zero, attempt.cause
    else:
        yield pod.bound, min(running, end), "A.startup", _carry(attempt)
        yield running, min(ready, end), "A.gang_wait", _carry(attempt)
        key = (pod.job.uid, attempt.number)
        if key not in gangs:
            gangs[key] = gang_pieces(attempt, stop)
        yield from gangs[key]
    if until > end:
        yield from _teardown(attempt, node, end, until)


def _teardown(attempt: Attempt, node: Node, start: int, until: int) -> Iterator[Piece]:
    """After the attempt: teardown, unless the node is worse than cordoned or draining."""
    begins = [s.start for s in node.log]
    at = start
    while at < until:
        here = bisect_right(begins, at) - 1
        end = min(until, begins[here + 1] if here + 1 < len(begins) else until)
        span = node.log[here]
        if span.state in ("available", "cordoned", "draining"):
            yield at, end, "A.teardown", attempt.cause or "base.overhead"
        else:
            yield at, end, f"U.{span.state}", span.cause
        at = end
