"""The text of a log line without what wraps it: JSON, colours, ranks, prefixes of launchers."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from goodput._resources import catalog_dir

# CSI sequences (colours, cursor), OSC sequences (links), and single-character escapes.
_ESCAPES = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_MAX_PREFIXES = 6
_OBJECT = b'{"'
_TRACEBACK = "Traceback (most recent call last)"


# What lines that differ only in digits share.
ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_ZERO = ord("0")
# A digit and the zero differ in their lower bits only, which are its value.
_LAST_DIGIT = 9
Texts = np.ndarray[Any, np.dtype[np.uint8]]
"""Lines of one length as a table of bytes, a row each."""


def texts_at(data: bytes, starts: Any, size: int) -> Texts:
    """The lines of `size` bytes, at least one, that begin at some places."""
    windows = np.ndarray(len(data) - size + 1, f"V{size}", data, strides=(1,))
    texts: Texts = windows[starts].view(np.uint8).reshape(-1, size)
    return texts


def are_alike(texts: Texts, text: bytes) -> Any:
    """Which lines differ from one, that has zeros for digits, in no more than digits."""
    zeros = np.frombuffer(text, np.uint8)
    return (texts ^ zeros <= np.where(zeros == _ZERO, _LAST_DIGIT, 0).astype(np.uint8)).all(axis=1)


class Line(NamedTuple):
    """A line as read: `text` without escapes, `body` also without prefixes; the writer's rank.

    `rank_at` is where that stands in the text of a line that is not JSON.
    """

    text: bytes
    body: bytes
    rank: int | None
    rank_at: tuple[int, int] | None = None


@cache
def _shapes() -> dict[str, Any]:
    return tomllib.loads((catalog_dir() / "log_lines.toml").read_text(encoding="utf-8"))


@cache
def _prefix() -> re.Pattern[bytes]:
    """All prefixes as one expression, each with a name of its own for its `rank`."""
    shapes = _shapes()["prefix"]
    parts = (s["regex"].replace("(?P<rank>", f"(?P<rank{i}>") for i, s in enumerate(shapes))
    return re.compile("|".join(f"(?:{part})" for part in parts).encode())


@cache
def aside_bar() -> re.Pattern[str]:
    """What the label of a progress bar begins with that does something else than train."""
    return re.compile(_shapes()["bars"]["aside"])


def read_line(raw: bytes) -> Line:
    """Takes the wrapping off one line."""
    text = raw
    if b"\x1b" in text:
        text = _ESCAPES.sub(b"", text)
    if b"\0" in text:
        text = text.replace(b"\0", b"")
    body, rank, rank_at = _without_prefixes(text)
    if body.startswith(_OBJECT) and (unpacked := _unpacked(body)) is not None:
        time, text = unpacked
        body, inner_rank, _ = _without_prefixes(text)
        text = time + text
        rank = rank if inner_rank is None else inner_rank
    return Line(text, body, rank, rank_at)


def places_without_escapes(raw: bytes) -> list[int]:
    """Where each character that is no part of an escape is, and the end."""
    places: list[int] = []
    begin = 0
    for found in _ESCAPES.finditer(raw):
        places += range(begin, found.start())
        begin = found.end()
    return [*places, *range(begin, len(raw) + 1)]


def _without_prefixes(text: bytes) -> tuple[bytes, int | None, tuple[int, int] | None]:
    match_prefix, body, rank, rank_at = _prefix().match, text, None, None
    for _ in range(_MAX_PREFIXES):
        match = match_prefix(body)
        if match is None:
            break
        if match.lastgroup is not None:
            # The innermost prefix was written by the process itself, the outer by its launchers.
            rank = int(match[match.lastgroup])
            begin, end = match.span(match.lastgroup)
            cut = len(text) - len(body)
            rank_at = cut + begin, cut + end
        body = body[match.end() :]
    return body, rank, rank_at


def _unpacked(body: bytes) -> tuple[bytes, bytes] | None:
    """The time and the text that a line of JSON carries; None if it is no such line."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    text, error, time = (_first(fields, key) for key in ("text", "error", "time"))
    if text is None:
        return None
    said = _last_line(text) if error is None else f"{_last_line(error)} ({_last_line(text)})"
    head = "" if time is None else f"{time} "
    return head.encode("utf-8", "replace"), said.encode("utf-8", "replace")


def _last_line(text: str) -> str:
    """Where a traceback says what was raised; of other text, all."""
    if _TRACEBACK not in text:
        return text.removesuffix("\n")
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def _first(fields: dict[str, Any], kind: str) -> str | None:
    found = (fields.get(name) for name in _shapes()["json"][kind])
    return next((value for value in found if isinstance(value, str)), None)
