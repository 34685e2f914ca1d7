"""How the pages write numbers, times, commands and texts that came from the cluster."""

from __future__ import annotations

import re
import shlex
from datetime import datetime
from typing import Any

NOTHING = "–"

# Names longer than this are cut on the page; report.json has them whole.
NAME_LIMIT = 160

# What would end a line, ring a bell or turn the reading direction of what follows.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&:/@])")


def hours(value: float | None, decimals: int = 1) -> str:
    """An amount of hours with thousands separated, or a dash."""
    return NOTHING if value is None else f"{value:,.{decimals}f}"


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


def span(start: str, end: str) -> str:
    """Two RFC 3339 instants as a period, the date once if it is one: `2 Mar 2026, 00:00–00:50`."""
    first, last = datetime.fromisoformat(start), datetime.fromisoformat(end)
    date = f"{first.day} {first:%b %Y}"
    if first.date() == last.date():
        return f"{date}, {first:%H:%M}–{last:%H:%M}"
    if first.time() == last.time():
        return f"{date} – {last.day} {last:%b %Y}"
    return f"{date} {first:%H:%M} – {last.day} {last:%b %Y} {last:%H:%M}"


def clean(value: Any, limit: int = NAME_LIMIT) -> str:
    """A text of the cluster on one line: control characters shown, length bounded."""
    text = NOTHING if value is None or value == "" else str(value)
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def markdown(value: Any) -> str:
    """A text of the cluster in a Markdown table cell: nothing in it is markup."""
    return _MARKDOWN.sub(r"\\\1", clean(value))


def command(*words: str) -> str | None:
    """A shell command that is safe to paste, or None if a word could not survive the paste."""
    if any(_CONTROL.search(word) for word in words):
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
