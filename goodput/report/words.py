"""How the pages write numbers, times, commands and texts that came from the cluster."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from typing import Any

from goodput import texts

# Written alike on pages and in notebooks.
NOTHING, NAME_LIMIT, clean = texts.NOTHING, texts.NAME_LIMIT, texts.clean
counted = texts.counted

# What makes markup, tables, mentions or links; a dash or a dot inside a name makes nothing.
_MARKDOWN = re.compile(r"([\\`*{}\[\]<>|~&@]|\b_\B|\B_\b|\B_\B|:(?=//)|(?<=www)\.)")


def hours(value: float | None, decimals: int = 1) -> str:
    """An amount of hours with thousands separated, or a dash."""
    return NOTHING if value is None else f"{value:,.{decimals}f}"


def amount(value: float | None) -> str:
    """An amount with one digit, or as many more as it takes for something not to be nothing."""
    if not value:
        return hours(value)
    decimals = next((digits for digits in (1, 2, 3) if round(value, digits)), None)
    return "<0.001" if decimals is None else hours(value, decimals)


def count(value: float | None) -> str:
    """A whole number, or a dash."""
    return NOTHING if value is None else f"{value:,.0f}"


def percent(value: float | None, digits: int = 1) -> str:
    """A ratio as a percentage; only a whole is written as 100%."""
    if value is None:
        return NOTHING
    text = f"{100 * value:.{digits}f}"
    if value < 1 and float(text) >= 100:  # rounding must not claim the whole
        text = f"{100 - 10**-digits:.{digits}f}"
    return f"{text}%"


def points(value: float | None, digits: int = 1) -> str:
    """A difference of ratios in points, with its sign."""
    return NOTHING if value is None else f"{100 * value:+,.{digits}f}".replace("-", "−")


def money(value: float | None) -> str:
    """An amount of dollars without cents, or a dash."""
    return NOTHING if value is None else f"${value:,.0f}"


def span_of(seconds: float | None) -> str:
    """A length of time in the largest unit that it fills twice."""
    if seconds is None:
        return NOTHING
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.0f} s"


def between(low: float | None, high: float | None, digits: int = 1) -> str:
    """Two ratios as an interval, `84.1–98.8%`; one number where both are written alike."""
    first, last = percent(low, digits), percent(high, digits)
    if first == last or NOTHING in (first, last):
        return first if first == last else f"{first} to {last}"
    return f"{first.removesuffix('%')}–{last}"


def share(value: float | None) -> str:
    """A ratio as a percentage with one digit, in which something is never nothing."""
    return "<0.1%" if value is not None and 0 < value < 0.0005 else percent(value)


def instant(value: str | None) -> str:
    """An RFC 3339 instant as `24 Nov 10:15` UTC, without the year that the title gives."""
    if value is None:
        return NOTHING
    moment = datetime.fromisoformat(value)
    return f"{moment.day} {moment:%b %H:%M}"


def clock(value: str | None) -> str:
    """An RFC 3339 instant as `24 Nov 10:15:30` UTC."""
    return NOTHING if value is None else f"{instant(value)}:{datetime.fromisoformat(value):%S}"


def day(value: str) -> str:
    """An ISO date or instant as `Tue 24 Nov`."""
    moment = datetime.fromisoformat(value)
    return f"{moment:%a} {moment.day} {moment:%b}"


def full_instant(value: str) -> str:
    """An RFC 3339 instant as `2026-11-24 10:15 UTC`."""
    return f"{datetime.fromisoformat(value):%Y-%m-%d %H:%M} UTC"


def exact_instant(value: str) -> str:
    """The same with seconds and milliseconds where it has some, as the end of a window may."""
    moment = datetime.fromisoformat(value)
    return f"{moment:%Y-%m-%d} {_time_of_day(moment, moment)} UTC"


def _time_of_day(moment: datetime, other: datetime) -> str:
    """As fine as it takes to tell both instants apart from their neighbours."""
    if moment.microsecond or other.microsecond:
        return moment.time().isoformat("milliseconds")
    return f"{moment:%H:%M:%S}" if moment.second or other.second else f"{moment:%H:%M}"


def span(start: str, end: str) -> str:
    """Two RFC 3339 instants as a period, the date once if it is one: `2 Mar 2026, 00:00–00:50`."""
    first, last = datetime.fromisoformat(start), datetime.fromisoformat(end)
    date = f"{first.day} {first:%b %Y}"
    begin, end = _time_of_day(first, last), _time_of_day(last, first)
    if first.date() == last.date():
        return f"{date}, {begin}–{end}"
    if first.time() == last.time():
        return f"{date} – {last.day} {last:%b %Y}"
    return f"{date} {begin} – {last.day} {last:%b %Y} {end}"


def markdown(value: Any, limit: int = NAME_LIMIT) -> str:
    """A text of the cluster in a Markdown table cell: nothing in it is markup."""
    return _MARKDOWN.sub(r"\\\1", clean(value, limit))


def command(*words: str) -> str | None:
    """A shell command that is safe to paste, or None if a word could not survive the paste."""
    if any(texts.CONTROL.search(word) for word in words):
        return None
    return shlex.join(words)


def explain(*names: Any) -> str | None:
    """The command that shows the timeline and evidence of a job, an attempt or a node."""
    return command("goodput", "explain", "/".join(str(name) for name in names))


def query(sql: str) -> str | None:
    """The command that prints the rows of a query."""
    return command("goodput", "query", " ".join(sql.split()))


def literal(value: str) -> str:
    """A text as an SQL string literal."""
    return "'" + value.replace("'", "''") + "'"
