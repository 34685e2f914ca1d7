"""The injected truth beside the ledger, GPU by GPU and moment by moment.

Every moment of every GPU is one of four: booked as it was; not visible, and booked as an observer
has to book it; idle for a reason that a pod of its pool leaves open which vanished; wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from goodput.synth.compare import UNIT_MS_PER_HOUR
from goodput.synth.fleet import UNITS
from goodput.synth.loop.seen import Unseen
from goodput.synth.trace import Label
from goodput.synth.truth import Entry, Truth

Device = tuple[str, int]
"""UID of a node, or the name of a pool whose nodes are missing; index of the GPU."""
Span = tuple[int, int, Label]
"""Begin and end in epoch milliseconds, state and cause."""
NOTHING = "(not paid)"
"""The row of time that the ledger books and that nobody paid."""


@dataclass
class Row:
    """Unit-milliseconds of one injected state and how the ledger has them."""

    state: str
    exact: int = 0
    unseen: int = 0
    open_reason: int = 0
    wrong: int = 0

    @property
    def injected(self) -> int:
        """All of them."""
        return self.exact + self.unseen + self.open_reason + self.wrong


@dataclass(frozen=True)
class Account:
    """How the ledger has what was injected.

    Attributes:
        rows: by injected state.
        booked: unit-milliseconds by state as the ledger has them.
        differences: what is wrong: injected, expected and computed labels, unit-milliseconds.
    """

    rows: list[Row]
    booked: dict[str, int]
    differences: dict[tuple[Label, Label, Label | None], int]

    @property
    def wrong(self) -> int:
        """Unit-milliseconds that are neither as they were nor as they looked."""
        return sum(row.wrong for row in self.rows)


def account(truth: Truth, unseen: Unseen, warehouse: Path) -> Account:
    """Sets the ledger of a built warehouse beside the truth.

    Args:
        truth: made with the veils of `unseen`.
        unseen: what could not be seen.
        warehouse: the file that a build made.
    """
    computed = _computed(warehouse)
    rows: dict[str, Row] = {}
    differences: dict[tuple[Label, Label, Label | None], int] = defaultdict(int)
    taken = 0
    for entry in truth.entries:
        row = rows.setdefault(entry.state, Row(entry.state))
        injected = (entry.state, entry.cause)
        device = (entry.node_uid or entry.pool, entry.device)
        for start, end, label in _within(computed.get(device, ()), entry):
            amount = entry.units * (end - start)
            taken += amount if label else 0
            verdict = _verdict(entry, label, unseen, start, end)
            setattr(row, verdict, getattr(row, verdict) + amount)
            if verdict == "wrong":
                differences[injected, entry.seen or injected, label] += amount
    booked: dict[str, int] = defaultdict(int)
    for spans in computed.values():
        for start, end, (state, _) in spans:
            booked[state] += UNITS * (end - start)
    if extra := sum(booked.values()) - taken:
        rows[NOTHING] = Row(NOTHING, wrong=extra)
    return Account([rows[state] for state in sorted(rows)], dict(booked), dict(differences))


def _verdict(entry: Entry, label: Label | None, unseen: Unseen, start: int, end: int) -> str:
    """Which column of its row some time of an entry belongs to."""
    injected = (entry.state, entry.cause)
    if label == injected:
        return "exact"
    if label == entry.seen:
        return "unseen"
    if label is not None and label[0].startswith("I."):
        if _is_inside(unseen.missed.get((entry.node_uid, entry.device), ()), start, end):
            return "unseen"
        is_open = _is_inside(unseen.open_spans.get(entry.pool, ()), start, end)
        if entry.state.startswith("I.") and is_open:
            return "open_reason"
    return "wrong"


def _is_inside(spans: Iterable[tuple[int, int]], start_ms: int, end_ms: int) -> bool:
    return any(a * 1000 <= start_ms and end_ms <= b * 1000 for a, b in spans)


def _computed(warehouse: Path) -> dict[Device, list[Span]]:
    """The ledger by device, in the order of time; all devices of the loop are whole ones."""
    import duckdb

    with duckdb.connect(str(warehouse), read_only=True) as con:
        found = con.execute(
            "select coalesce(node_uid, pool), gpu, epoch_ms(started_at), epoch_ms(ended_at),"
            " state, coalesce(cause, '') from ledger.gpu_time order by all"
        ).fetchall()
    spans: dict[Device, list[Span]] = defaultdict(list)
    for where, gpu, start, end, state, cause in found:
        spans[where, gpu].append((start, end, (state, cause)))
    return spans


def _within(spans: Iterable[Span], entry: Entry) -> Iterator[tuple[int, int, Label | None]]:
    """What the ledger says of the time of an entry; None where it says nothing."""
    at, until = entry.start * 1000, entry.end * 1000
    for start, end, label in spans:
        if end <= at or start >= until:
            continue
        if start > at:
            yield at, start, None
        yield max(start, at), min(end, until), label
        at = min(end, until)
    if at < until:
        yield at, until, None


def explain(result: Account) -> str:
    """The table that `goodput demo` prints, and what its columns are."""
    total = sum(row.injected for row in result.rows)
    exact = sum(row.exact for row in result.rows)
    if result.wrong:
        verdict = f"{result.wrong / UNIT_MS_PER_HOUR:,.4f} GPU-hours are wrong."
    else:
        verdict = "Nothing is wrong: what nobody saw is A.unknown or as it looked, the rest exact."
    return (
        f"{_table(result)}\n\n"
        f"{100 * exact / total:.2f} % of all GPU time is booked as it was, to the millisecond."
        f" {verdict}\n"
        "not seen: pods came, ended or went between two looks, so that nobody can know when.\n"
        "idle, why?: meanwhile other GPUs of the pool waited, and nobody can know for what."
    )


def _table(result: Account) -> str:
    """Injected states and how the ledger has them, in GPU-hours."""
    heads = ("injected", "as it was", "not seen", "idle, why?", "wrong", "ledger")
    lines = [f"{'state (GPU-hours)':28}" + "".join(f"{head:>12}" for head in heads)]
    known = {row.state for row in result.rows}
    more = [Row(state) for state in sorted(set(result.booked) - known)]
    rows = sorted([*result.rows, *more], key=lambda row: row.state)
    for row in rows:
        amounts = _amounts(row)
        lines.append(_line(row.state, [*amounts, result.booked.get(row.state, 0)]))
    sums = [sum(column) for column in zip(*map(_amounts, rows), strict=True)]
    lines.append(_line("total", [*sums, sum(result.booked.values())]))
    return "\n".join(lines)


def _amounts(row: Row) -> list[int]:
    return [row.injected, row.exact, row.unseen, row.open_reason, row.wrong]


def _line(name: str, amounts: Sequence[int]) -> str:
    return f"{name:28}" + "".join(f"{amount / UNIT_MS_PER_HOUR:>12,.4f}" for amount in amounts)
