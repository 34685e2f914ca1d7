"""Which window to account for when nobody says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from goodput.errors import NoData
from goodput.lake import NO_DAY, Lake
from goodput.warehouse.rawviews import QUARANTINE
from goodput.window import Window

_SUNDAY = 6


def default_window(lake: Lake, as_of: datetime | None = None) -> Window:
    """The last ISO week that is over and whose last day the data reach; else their newest week.

    Args:
        as_of: later days do not count; None means now.

    Raises:
        NoData: no row in the lake has a time.
    """
    now = (as_of or datetime.now(UTC)).astimezone(UTC).date()
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
    is_whole = past[-1].weekday() == _SUNDAY and monday + timedelta(days=7) <= now
    if not is_whole and past[0] < monday:
        monday -= timedelta(days=7)
    start = datetime(monday.year, monday.month, monday.day, tzinfo=UTC)
    return Window(start, start + timedelta(days=7))


def chosen_words(window: Window, as_of: datetime | None = None) -> str:
    """What to tell the user of a window that `default_window` chose."""
    if window.end > (as_of or datetime.now(UTC)):
        return f"window: {window.iso_week}, the newest week with data; it is not over yet"
    return f"window: {window.iso_week}, the last week that the data reach"
