"""Through which windows the lake knew the fleet, and why not through others.

What was not collected is no fleet at rest: a week of which the lake holds only a part must not be
compared with a whole one. A fleet at rest is known all the same, so rows on few days prove nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from goodput.lake import NO_DAY, Lake
from goodput.warehouse.rawviews import QUARANTINE
from goodput.window import Window

UNPAID = "no node was in service in it"
"""Why a window that was built is left out all the same."""

_DAY = timedelta(days=1)
# Rows of these tell of what began long before anybody looked.
_OUTLIVING = ("nodes", "node_conditions", "node_admin", "commitments", "prices", QUARANTINE)
# Whoever writes these keeps the books of all that runs. Others look, and see nothing in between.
_BOOKS = ("jobs", "attempts", "pods")


@dataclass(frozen=True)
class LeftOut:
    """A window that was asked for and cannot be compared; `reason` is a clause."""

    window: Window
    reason: str

    def __str__(self) -> str:
        """For a person, such as `2026-W10: no node was in service in it`."""
        span = f"{self.window.start:%Y-%m-%d} to {self.window.end:%Y-%m-%d}"
        return f"{self.window.iso_week or span}: {self.reason}"


@dataclass(frozen=True)
class KnownDays:
    """The days of which the lake holds rows.

    Attributes:
        at_work: of rows that tell of a fleet at work.
        books: of the books that a scheduler keeps.
        last: the newest of any row.
    """

    at_work: frozenset[date]
    books: frozenset[date]
    last: date

    @classmethod
    def of(cls, lake: Lake) -> KnownDays:
        """As the manifest has them; no data file is read."""
        rows = [
            (entry.table, date.fromisoformat(entry.day))
            for entry in lake.snapshot().entries
            if entry.day != NO_DAY
        ]
        return cls(
            frozenset(day for table, day in rows if table not in _OUTLIVING),
            frozenset(day for table, day in rows if table in _BOOKS),
            max((day for table, day in rows if table != QUARANTINE), default=date.min),
        )

    def gap(self, window: Window) -> str | None:
        """Why the fleet was not known through a window; None if it was.

        Rows begin no later than the window and reach its last day. Where no books were kept yet,
        at least half of its days must have rows.
        """
        first = window.start.date()
        length = -(-(window.end - window.start) // _DAY)
        begin = min(self.at_work, default=None)
        if begin is None:
            return "the lake holds no row that tells of a fleet at work"
        if begin > first:
            where = "in the midst of it" if begin < first + length * _DAY else "after it"
            return f"the lake's rows begin on {begin}, {where}"
        if self.last < first + (length - 1) * _DAY:
            return f"the lake's rows end on {self.last}, before it does"
        held = len(self.at_work & {first + n * _DAY for n in range(length)})
        if min(self.books, default=date.max) > first and 2 * held < length:
            return f"it was looked at on {held} of its {length} days only"
        return None
