"""Windows of time: half-open [start, end) intervals of UTC instants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from goodput.errors import UsageError

_WEEK = re.compile(r"(\d{4})-?W(\d{2})\Z")


def parse_instant(text: str) -> datetime:
    """An RFC 3339 instant with a zone, as UTC, floored to whole milliseconds.

    Raises:
        UsageError: no RFC 3339 instant, or one without a zone.
    """
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time; write RFC 3339, such as 2026-11-23T00:00:00Z"
        ) from None
    if instant.tzinfo is None:
        raise UsageError(f"{text!r} has no zone; add Z for UTC or an offset such as +01:00")
    try:
        instant = instant.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{text!r} is no time between the years 1 and 9999 in UTC") from None
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


@dataclass(frozen=True)
class Window:
    """A half-open interval [start, end) of UTC instants."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.end == self.start:
            raise UsageError(
                f"the window is empty: it starts and ends at {self.start}, in whole milliseconds;"
                " take a later end"
            )
        if self.end < self.start:
            raise UsageError(f"the window ends at {self.end} but starts at {self.start}; swap them")

    @classmethod
    def of_week(cls, text: str) -> Window:
        """The ISO week written like 2026-W48: Monday 00:00 UTC up to the next Monday."""
        match = _WEEK.match(text)
        if not match:
            raise UsageError(f"{text!r} is not an ISO week; write it like 2026-W48")
        try:
            monday = datetime.fromisocalendar(int(match[1]), int(match[2]), 1)
            start = monday.replace(tzinfo=UTC)
            return cls(start, start + timedelta(days=7))
        except (ValueError, OverflowError):
            raise UsageError(f"{text!r} is no week of that year; use 01 to 52 or 53") from None

    @property
    def iso_week(self) -> str | None:
        """Its name when it is exactly one ISO week, such as 2026-W48, else None."""
        year, week, weekday = self.start.isocalendar()
        name = f"{year}-W{week:02d}"
        return name if weekday == 1 and Window.of_week(name) == self else None
