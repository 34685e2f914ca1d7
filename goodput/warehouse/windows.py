"""Which window to account for when nobody says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from goodput.errors import NoData
from goodput.lake import NO_DAY, Lake
from goodput.warehouse.rawviews import QUARANTINE
from goodput.window import Window

_SUNDAY = 6


def default_window(lake: Lake, as_of: datetime | None = None) -> Window:
    """The last ISO week that the data reach to its end; their only week if they do not fill one.

    Args:
        as_of: later days do not count; None means now.

    Raises:
        NoData: no row in the lake has a time.
    """
    now = (as_of or datetime.now(UTC)).date()
    days = {
        date.fromisoformat(entry.day)
        for entry in lake.snapshot().entries
        if entry.day != NO_DAY and entry.table != QUARANTINE
    }
    # A slip such as a wrong year must not move the window into the future.
    past = sorted(day for day in days if day <= now)
    if not past:
        raise NoData(f"no row in {lake.url} has a time up to {now}; import or collect some first")
    monday = past[-1] - timedelta(days=past[-1].weekday())
    if past[-1].weekday() != _SUNDAY and past[0] < monday:
        monday -= timedelta(days=7)
    start = datetime(monday.year, monday.month, monday.day, tzinfo=UTC)
    return Window(start, start + timedelta(days=7))
