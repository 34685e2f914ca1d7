"""The truth that was injected beside what the pipeline computed from the artefacts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from goodput.synth.fleet import UNITS
from goodput.synth.truth import Truth

UNIT_MS_PER_HOUR = UNITS * 3_600_000
Amounts = Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Cell:
    """Unit-milliseconds of one (state, cause): injected, visible to any observer, computed."""

    state: str
    cause: str
    injected: int
    visible: int
    computed: int

    @property
    def difference(self) -> int:
        """Computed minus visible: zero where the pipeline is right."""
        return self.computed - self.visible


@dataclass(frozen=True)
class Fact:
    """A number besides the ledger: what was injected and what was computed."""

    name: str
    injected: float
    computed: float | None


@dataclass(frozen=True)
class Comparison:
    """Truth against ledger, cell by cell, and the headline numbers."""

    cells: list[Cell]
    facts: list[Fact]

    @property
    def exact(self) -> bool:
        """Whether every cell of the ledger is what could be seen."""
        return all(cell.difference == 0 for cell in self.cells)

    @property
    def misplaced(self) -> int:
        """Unit-milliseconds in a wrong cell."""
        return sum(abs(cell.difference) for cell in self.cells) // 2


def compare(truth: Truth, warehouse: Path) -> Comparison:
    """Sets the truth beside ledger.gpu_time and metrics of a built warehouse."""
    import duckdb

    con = duckdb.connect(str(warehouse), read_only=True)
    try:
        rows = con.execute(
            "select state, coalesce(cause, ''), sum(unit_ms)::bigint from ledger.gpu_time"
            " group by all"
        ).fetchall()
        metrics = con.execute(
            "select metric, scope_value, value from metrics.success"
            " where metric = 'job_success' and scope = 'fleet' and cluster <> '*'"
            " union all select metric, scope_value, value from metrics.availability"
            " where scope = 'pool' and cluster <> '*' and metric like 'node_availability_%'"
        ).fetchall()
    finally:
        con.close()
    computed: Counter[tuple[str, str]] = Counter()
    for state, cause, amount in rows:
        computed[state, cause] += amount
    found = {(metric, scope): value for metric, scope, value in metrics}
    return Comparison(_cells(truth, computed), _facts(truth, found))


def _cells(truth: Truth, computed: Amounts) -> list[Cell]:
    injected, visible = truth.by_cause(), truth.by_visible_cause()
    keys = sorted(set(injected) | set(visible) | set(computed))
    return [
        Cell(*key, injected.get(key, 0), visible.get(key, 0), computed.get(key, 0)) for key in keys
    ]


def _facts(truth: Truth, found: Mapping[tuple[str, str], float]) -> list[Fact]:
    ended = truth.succeeded + truth.failed
    facts = [Fact("job success", truth.succeeded / ended, found.get(("job_success", "")))]
    for pool, (service, closed, loose) in sorted(truth.node_ms.items()):
        for name, good in (("closed", closed), ("open", loose)):
            metric = f"node_availability_{name}"
            facts.append(Fact(f"{metric} {pool}", good / service, found.get((metric, pool))))
    return facts


def render(comparison: Comparison) -> str:
    """The table that `goodput demo` prints: GPU-hours per state, per cause, then the facts."""
    lines = _block("state", _sums(comparison.cells, lambda cell: cell.state))
    lines += ["", *_block("cause", _sums(comparison.cells, lambda cell: cell.cause or "(none)"))]
    lines += ["", f"{'number':34}{'injected':>14}{'computed':>14}"]
    for fact in comparison.facts:
        computed = "-" if fact.computed is None else f"{fact.computed:.6f}"
        lines.append(f"{fact.name:34}{fact.injected:>14.6f}{computed:>14}")
    return "\n".join([*lines, "", _verdict(comparison)])


def _verdict(comparison: Comparison) -> str:
    """One sentence: whether every cell is right, else how much is in a wrong one."""
    cells = len(comparison.cells)
    if comparison.exact:
        return f"All {cells} pairs of state and cause are what was injected, to the millisecond."
    wrong = sum(cell.difference != 0 for cell in comparison.cells)
    total = sum(cell.visible for cell in comparison.cells)
    hours = comparison.misplaced / UNIT_MS_PER_HOUR
    share = 100 * comparison.misplaced / total
    return (
        f"{wrong} of {cells} pairs of state and cause differ: {hours:,.4f} GPU-hours, "
        f"{share:.3f} % of what is paid, are in another one."
    )


def _sums(cells: list[Cell], key: Callable[[Cell], str]) -> list[tuple[str, int, int, int]]:
    sums: dict[str, list[int]] = {}
    for cell in cells:
        row = sums.setdefault(key(cell), [0, 0, 0])
        for column, amount in enumerate((cell.injected, cell.visible, cell.computed)):
            row[column] += amount
    return [(name, a, b, c) for name, (a, b, c) in sorted(sums.items())]


def _block(title: str, rows: list[tuple[str, int, int, int]]) -> list[str]:
    """Rows in GPU-hours; `not visible` is what no observer of the cluster could have told apart."""
    heads = ("injected", "not visible", "computed", "difference")
    lines = [f"{title + ' (GPU-hours)':34}" + "".join(f"{head:>14}" for head in heads)]
    columns = [[a for _, a, _, _ in rows], [b for _, _, b, _ in rows], [c for *_, c in rows]]
    total = [("total", sum(columns[0]), sum(columns[1]), sum(columns[2]))]
    for name, injected, visible, computed in rows + total:
        amounts = (injected, visible - injected, computed, computed - visible)
        cells = "".join(f"{amount / UNIT_MS_PER_HOUR:>14,.4f}" for amount in amounts)
        lines.append(f"{name:34}{cells}")
    return lines
