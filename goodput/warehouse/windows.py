"""Which window to account for when nobody says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from goodput.errors import NoData
from goodput.lake import NO_DAY, Lake
from goodput.warehouse.rawviews import QUARANTINE
from goodput.window import Window


def default_window(lake: Lake, as_of: datetime | None = None) -> Window:
    """The last ISO week that is over and has data to its end, or the newest week with any data.

    Args:
        as_of: the week must be over by then; None means now.

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
    mondays = sorted({day - timedelta(days=day.weekday()) for day in past})
    whole = [monday for monday in mondays if monday + timedelta(days=6) <= min(past[-1], now)]
    monday = (whole or mondays)[-1]
    start = datetime(monday.year, monday.month, monday.day, tzinfo=UTC)
    return Window(start, start + timedelta(days=7))
