"""The text of a log line without what wraps it: JSON, colours, ranks, prefixes of launchers."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from goodput._resources import catalog_dir

# CSI sequences (colours, cursor), OSC sequences (links), and single-character escapes.
_ESCAPES = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_MAX_PREFIXES = 6
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OBJECTS = (b'{"', b'{ "')
_STRING = re.compile(rb'"[^"\\]*(?:\\n)?"')
_DIGIT = re.compile(rb"\d")
_DIGIT_IN_KEY = re.compile(rb'\d[^"]*"\s*:')
# A collector wraps what a program has wrapped already.
_MAX_OBJECTS = 3
# The milliseconds in a unit of a time in JSON that is a number: seconds to nanoseconds.
_EPOCH_UNITS = (1000, 1, 1e-3, 1e-6)
_FIRST_MS, _LAST_MS = 1e12, 1e13
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

    `rank_at` is where that stands in the text, if it does; `head` how much of this is the time that
    stood elsewhere in JSON.
    """

    text: bytes
    body: bytes
    rank: int | None
    rank_at: tuple[int, int] | None = None
    head: int = 0


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
def _told_rank() -> tuple[re.Pattern[bytes], re.Pattern[bytes], bytes]:
    told = _shapes()["rank"]
    patterns = (re.compile(told[name].encode()) for name in ("told", "above"))
    return (*patterns, told["above_what"].encode())


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
    time = b""
    for _ in range(_MAX_OBJECTS):
        if not body.startswith(_OBJECTS) or (unpacked := _unpacked(body)) is None:
            break
        time, text = unpacked[0] or time, unpacked[1]
        body, inner_rank, inner_at = _without_prefixes(text)
        rank_at = inner_at and (inner_at[0] + len(time), inner_at[1] + len(time))
        text = time + text
        rank = rank if inner_rank is None else inner_rank
    return Line(text, body, rank, rank_at, len(time))


def rank_told(line: Line, above: bytes) -> int | None:
    """The rank that a line is about: the one that it names, else its writer's.

    Args:
        above: the bytes that stand before it.
    """
    told, block, what = _told_rank()
    if line.body.lstrip().startswith(what) and (found := block.search(above)):
        return int(found[1])
    if line.rank is not None or (found := told.search(line.body)) is None:
        return line.rank
    return int(found[found.lastindex or 0])


def places_of(raw: bytes, line: Line) -> list[int] | None:
    """Where each character of a line's text is in the line, and the end.

    None where lines that differ only in digits need not have their texts at these places.
    """
    places = _places_without_escapes(raw)
    if bytes(raw[place] for place in places[:-1]) == line.text:
        return places
    return _places_in_object(raw, line)


def _places_without_escapes(raw: bytes) -> list[int]:
    places: list[int] = []
    begin = 0
    for found in _ESCAPES.finditer(raw):
        places += range(begin, found.start())
        begin = found.end()
    return [*places, *range(begin, len(raw) + 1)]


def _places_in_object(raw: bytes, line: Line) -> list[int] | None:
    """The same of a line of JSON whose time and text stand in it as they are, once each."""
    time, said = b'"%b"' % line.text[: max(line.head - 1, 0)], line.text[line.head :]
    values = _STRING.sub(b"", raw[raw.find(b"{") :])
    is_plain = raw.count(b"\\") == raw.count(b'\\n"') and not _DIGIT.search(values)
    is_once = raw.count(said) == 1 and (not line.head or raw.count(time) == 1)
    begin = raw.find(said)
    ends_as_said = raw.startswith((b'"', b'\\n"'), begin + len(said))
    if not (is_plain and is_once and ends_as_said) or _DIGIT_IN_KEY.search(raw):
        return None
    head = raw.find(time) + 1
    return [*range(head, head + line.head), *range(begin, begin + len(said) + 1)]


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
    payload = fields.get(_shapes()["json"]["payload"])
    if isinstance(payload, dict):
        fields |= payload
    text, error, time = (_first(fields, key) for key in ("text", "error", "time"))
    if text is None:
        return None
    time = _iso_time(fields) if time is None else time
    said = _last_line(text) if error is None else f"{_last_line(error)} ({_last_line(text)})"
    head = "" if time is None else f"{time} "
    return head.encode("utf-8", "replace"), said.encode("utf-8", "replace")


def _iso_time(fields: dict[str, Any]) -> str | None:
    """A time that is a number since 1970, in whichever unit makes it one of these decades."""
    for value in map(fields.get, _shapes()["json"]["time"]):
        if isinstance(value, (int, float)) and 0 < value < _LAST_MS / _EPOCH_UNITS[-1]:
            for unit in _EPOCH_UNITS:
                if _FIRST_MS <= (ms := value * unit) < _LAST_MS:
                    time = _EPOCH + timedelta(milliseconds=round(ms))
                    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03}Z"
    return None


def _last_line(text: str) -> str:
    """Where a traceback says what was raised; of other text, all."""
    if _TRACEBACK not in text:
        return text.removesuffix("\n")
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")


def _first(fields: dict[str, Any], kind: str) -> str | None:
    found = (fields.get(name) for name in _shapes()["json"][kind])
    return next((value for value in found if isinstance(value, str)), None)
