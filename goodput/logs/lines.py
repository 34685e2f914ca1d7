"""The text of a log line without what wraps it: colours, ranks, container and launcher prefixes."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import NamedTuple

from goodput._resources import catalog_dir

# CSI sequences (colours, cursor), OSC sequences (links), and single-character escapes.
_ESCAPES = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_MAX_PREFIXES = 6


class Line(NamedTuple):
    """A line as read: `text` without escapes, `body` also without prefixes; the writer's rank."""

    text: bytes
    body: bytes
    rank: int | None


@cache
def _prefix() -> re.Pattern[bytes]:
    """All prefixes as one expression, each with a name of its own for its `rank`."""
    text = (catalog_dir() / "log_lines.toml").read_text(encoding="utf-8")
    shapes = tomllib.loads(text)["prefix"]
    parts = (s["regex"].replace("(?P<rank>", f"(?P<rank{i}>") for i, s in enumerate(shapes))
    return re.compile("|".join(f"(?:{part})" for part in parts).encode())


def read_line(raw: bytes) -> Line:
    """Takes the wrapping off one line."""
    text = raw
    if b"\x1b" in text:
        text = _ESCAPES.sub(b"", text)
    if b"\0" in text:
        text = text.replace(b"\0", b"")
    match_prefix, rank = _prefix().match, None
    body = text
    for _ in range(_MAX_PREFIXES):
        match = match_prefix(body)
        if match is None:
            break
        if match.lastgroup is not None:
            # The innermost prefix was written by the process itself, the outer by its launchers.
            rank = int(match[match.lastgroup])
        body = body[match.end() :]
    return Line(text, body, rank)
