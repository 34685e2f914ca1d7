"""What several ranks say in one log: the same steps, and reports of who was slower than others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar

from goodput.logs.events import Event
from goodput.logs.step_lines import Lines

# What a rank must exceed the others' median by: STANDARD 3.2 calls 5 % more slow.
_SLOW = 0.05
_MIN_RANKS = 3
# The same step printed by several ranks: how many records back it is recognised.
_RECENT = 64


class RecentSteps:
    """The positions of an attempt's last step lines, each with the digest of its text."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], None] = {}  # in the order in which they came

    def __contains__(self, key: tuple[int, int]) -> bool:
        return key in self._seen

    def newest(self, position: int) -> int:
        """The largest position, or the given one if that is larger."""
        return max([position, *(position for position, _ in self._seen)])

    def note(self, keys: Iterable[tuple[int, int]]) -> None:
        """Adds some, the newest last."""
        self._seen |= dict.fromkeys(keys)
        while len(self._seen) > _RECENT:
            del self._seen[next(iter(self._seen))]

    def note_lines(self, lines: Lines) -> None:
        """Adds those of some lines."""
        last = lines[-_RECENT:]
        self.note(zip(last["position"].tolist(), last["digest"].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class SlowRank:
    """A rank that a report shows to be slow.

    Attributes:
        node: what the report calls its machine.
        excess: how much longer it took than the others' median, as a share; None where the report
            only names it.
        start_ms, end_ms: from the report before, or the attempt's start, to this one.
        reports: how many reports there had been, this one included.
    """

    rank: int
    node: str | None
    excess: float | None
    start_ms: int | None
    end_ms: int | None
    reports: int
    line: int


@dataclass(slots=True)
class RankReports:
    """Reads the events of one attempt's reports in order; `found` holds the slow ranks."""

    start_ms: int | None
    found: list[SlowRank] = field(default_factory=list)
    _reports: int = 0
    _before_ms: int | None = None
    _at_ms: int | None = None
    _line: int = 0
    _times: dict[str, dict[int, float]] = field(default_factory=dict)
    _label: str = ""

    EVENTS: ClassVar = ("rank_report", "slow_rank", "rank_timer", "rank_time")

    def take(self, event: Event, at_ms: int | None) -> None:
        """Reads the next of EVENTS."""
        match event.pattern.event:
            case "rank_report":
                self._begin(event, at_ms)
            case "slow_rank":
                self._name(event)
            case "rank_timer":
                self._label = str(event.fields.get("label", ""))
            case "rank_time":
                self._time(event)

    def _begin(self, event: Event, at_ms: int | None) -> None:
        self.finish()
        self._before_ms = self._at_ms if self._reports else self.start_ms
        self._reports += 1
        self._at_ms, self._line = at_ms, event.line

    def _name(self, event: Event) -> None:
        rank, node = event.fields.get("rank"), event.fields.get("node")
        if isinstance(rank, int):
            self._add(rank, str(node) if node else None, None, event.line)

    def _time(self, event: Event) -> None:
        rank, elapsed = event.fields.get("rank"), event.fields.get("elapsed")
        if not self._label or not isinstance(rank, int) or not isinstance(elapsed, float):
            return
        times = self._times.setdefault(self._label, {})
        if rank in times:
            self._label = ""  # the ranks begin again: another timer, which waits for the others
        else:
            times[rank] = elapsed

    def finish(self) -> None:
        """The report is over: the rank that is slowest in all is slow if it is so by enough."""
        times = self._times
        self._times = {}
        ranks = set[int]().union(*times.values())
        if len(ranks) < _MIN_RANKS:
            return
        sums = {r: sum(timer.get(r, 0) for timer in times.values()) for r in ranks}
        slowest = max(sums, key=lambda rank: (sums[rank], -rank))
        others = median(value for rank, value in sums.items() if rank != slowest)
        if others > 0 and sums[slowest] > others * (1 + _SLOW):
            self._add(slowest, None, sums[slowest] / others - 1, self._line)

    def _add(self, rank: int, node: str | None, excess: float | None, line: int) -> None:
        start, end, reports = self._before_ms, self._at_ms, max(self._reports, 1)
        self.found.append(SlowRank(rank, node, excess, start, end, reports, line))
