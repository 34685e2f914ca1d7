"""Texts of the cluster made harmless, and small tables of them for notebooks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup, escape

NOTHING = "–"

# Names longer than this are cut on a page; the data have them whole.
NAME_LIMIT = 160

# What would end a line, ring a bell or turn the reading direction of what follows.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def clean(value: Any, limit: int = NAME_LIMIT) -> str:
    """A text of the cluster on one line: control characters shown, length bounded."""
    text = NOTHING if value is None or value == "" else str(value)
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 node`, `2 nodes`, `1,024 nodes`.

    Args:
        noun: for one of them.
        plural: for more or none, where it does not just get an s.
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """`; did you mean …` with up to three names that are close to the one asked for, or nothing.

    Args:
        known: of a mapping, its values are what is shown of them.
    """
    close = difflib.get_close_matches(wanted, list(known), n=3)
    shown = [known[name] for name in close] if isinstance(known, Mapping) else close
    return f"; did you mean {', '.join(dict.fromkeys(shown))}" if close else ""


def html(tag: str, *parts: Any) -> Markup:
    """An element around its parts; what is not markup already is escaped.

    Args:
        tag: the element's name, from this code and never from a cluster.
    """
    inside = Markup("").join(part if isinstance(part, Markup) else _cell(part) for part in parts)
    return Markup(f"<{tag}>{inside}</{tag}>")  # noqa: S704 - escaped one line above


def html_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Markup:
    """Rows as a table; columns that no row has a value in are left out."""
    rows = list(rows)
    shown = [name for name in columns if any(row.get(name) not in (None, [], "") for row in rows)]
    head = html("tr", *(html("th", name.replace("_", " ")) for name in shown))
    body = [html("tr", *(html("td", _value(row.get(name))) for name in shown)) for row in rows]
    return html("table", html("thead", head), html("tbody", *body))


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.6g}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else value


def _cell(value: Any) -> Markup:
    return escape(clean(value) if value != "" else "")
