"""Cuts JSON and YAML text into Kubernetes documents and their items, one item in memory at a time.

A List of any length, many documents in one file, JSON lines and cut-off files are read alike: every
item that is whole is handed on, then the document ends with what is wrong with it, if anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import yaml

MAX_ITEM_CHARS = 16 << 20
"""No API object is larger than a few megabytes; more in one piece is something else."""

_CHUNK_CHARS = 1 << 20
_SPACE = re.compile(r"[\s,\x1e]*")
_NEXT_OBJECT = re.compile(r"\n\s*(?=\{)")
# What tools print above the YAML: the command, or records of their own.
_PREAMBLE = re.compile(r"[$>#%]\s*(kubectl|oc)\s|\{.*\}\s*\Z|std(out|err):\s*\Z")
_ANCHOR = re.compile(r"[\s\[{,]&\w")
_KIND_LINE = re.compile(r"^kind:", re.MULTILINE)
_KEY_LINE = re.compile(r"[^\s#-]")


@dataclass(frozen=True, slots=True)
class Item:
    """One object and the line on which it begins."""

    value: Any
    line: int


@dataclass(frozen=True, slots=True)
class End:
    """The end of a document.

    Attributes:
        header: the document without its items; empty where the document is a plain list.
        is_list: whether it had `items`, and these are surely all.
        flaw: why not all of it could be read; None when it is whole.
    """

    header: dict[str, Any]
    is_list: bool
    flaw: str | None
    line: int


class _Unreadable(Exception):
    """The text is not what it should be; the message says how."""


def json_documents(text: IO[str]) -> Iterator[Item | End]:
    """The items and ends of all JSON documents in a text, however they are separated."""
    cursor = _Cursor(text)
    while cursor.peek():
        header: dict[str, Any] = {}
        progress = _Progress()
        flaw = None
        line = cursor.line
        try:
            yield from _json_document(cursor, header, progress)
        except _Unreadable as unreadable:
            flaw = f"{unreadable} after {progress.items} whole items; dump it again"
            cursor.skip_to_next_object()
        if not progress.is_list and flaw is None:
            yield Item(header, line)
        yield End(header, progress.is_list, flaw, cursor.line)


@dataclass(slots=True)
class _Progress:
    items: int = 0
    is_list: bool = False


def _json_document(cursor: _Cursor, header: dict[str, Any], progress: _Progress) -> Iterator[Item]:
    opening = cursor.peek()
    if opening == "[":
        progress.is_list = True
        yield from _json_array(cursor, progress)
        return
    if opening != "{":
        raise _Unreadable(f"JSON cannot begin with {opening!r}")
    cursor.take()
    while (mark := cursor.peek()) != "}":
        if mark != '"':
            raise _Unreadable("the JSON is cut off or damaged")
        key = cursor.value()
        if cursor.peek() != ":":
            raise _Unreadable("the JSON is cut off or damaged")
        cursor.take()
        if key == "items" and cursor.peek() == "[":
            progress.is_list = True
            yield from _json_array(cursor, progress)
        else:
            header[str(key)] = cursor.value()
    cursor.take()


def _json_array(cursor: _Cursor, progress: _Progress) -> Iterator[Item]:
    cursor.take()
    while cursor.peek() != "]":
        line = cursor.line
        value = cursor.value()
        progress.items += 1
        yield Item(value, line)
    cursor.take()


class _Cursor:
    """A place in a JSON text that is read in chunks; what lies behind it is forgotten."""

    def __init__(self, text: IO[str]) -> None:
        self._text = text
        self._decode: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().raw_decode
        self._buffer = ""
        self._at = 0
        self._counted = 0
        self._lines = 1

    @property
    def line(self) -> int:
        """The number of the line it stands on, from 1."""
        self._lines += self._buffer.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._lines

    def peek(self) -> str:
        """The next character that is no space and no comma; empty at the end."""
        while True:
            match = _SPACE.match(self._buffer, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._fill(_CHUNK_CHARS):
                return ""

    def take(self) -> None:
        """Steps over the character that `peek` showed."""
        self._at += 1

    def value(self) -> Any:
        """The JSON value that begins here."""
        self.peek()
        while True:
            try:
                value, end = self._decode(self._buffer, self._at)
            except RecursionError:
                raise _Unreadable("the JSON is nested too deeply") from None
            except ValueError:
                end = -1
                value = None
            if end >= 0 and end < len(self._buffer):
                self._at = end
                return value
            length = len(self._buffer) - self._at
            if length > MAX_ITEM_CHARS:
                raise _Unreadable(f"one value is longer than {MAX_ITEM_CHARS} characters")
            # Twice as much each time, so that a long value is not decoded over and over.
            if not self._fill(max(_CHUNK_CHARS, length)):
                if end < 0:
                    raise _Unreadable("the JSON is cut off or damaged")
                self._at = end
                return value

    def skip_to_next_object(self) -> None:
        """Moves to the next line that begins with a brace, or to the end."""
        while True:
            match = _NEXT_OBJECT.search(self._buffer, self._at)
            if match:
                self._at = match.end()
                return
            self._at = max(self._at, len(self._buffer) - 1)
            if not self._fill(_CHUNK_CHARS):
                self._at = len(self._buffer)
                return

    def _fill(self, chars: int) -> bool:
        more = self._text.read(chars)
        _ = self.line
        self._buffer = self._buffer[self._at :] + more
        self._at = self._counted = 0
        return bool(more)


class _Loader(yaml.CSafeLoader):
    """YAML as the API server writes it: instants stay text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def yaml_documents(text: IO[str]) -> Iterator[Item | End]:
    """The items and ends of all YAML documents in a text."""
    for document in _split_documents(text):
        yield from _yaml_document(document)


def _split_documents(text: IO[str]) -> Iterator[Iterator[tuple[int, str]]]:
    """The numbered lines of each document; a document must be used up before the next."""
    lines = enumerate(_bounded_lines(text), start=1)
    finished = False

    def one() -> Iterator[tuple[int, str]]:
        nonlocal finished
        begun = False
        for number, line in lines:
            if line.startswith(("--- ", "---\n")) or line.rstrip() in ("---", "..."):
                return
            begun = begun or not _PREAMBLE.match(line)
            if begun:
                yield number, line
        finished = True

    while not finished:
        yield one()


def _bounded_lines(text: IO[str]) -> Iterator[str]:
    """Lines; one that is longer than an item may be comes in pieces, which then do not parse."""
    while line := text.readline(MAX_ITEM_CHARS):
        yield line


def _yaml_document(lines: Iterator[tuple[int, str]]) -> Iterator[Item | End]:
    above: list[str] = []
    below: list[str] = []
    flaw: str | None = None
    newest: Item | None = None
    count = 0
    last = first = 0
    for number, chunk, is_item in _chunks(lines):
        first, last = first or number, number
        if not is_item:
            (below if newest else above).append(chunk)
            continue
        value, problem = _load(chunk)
        if problem or not isinstance(value, list) or len(value) != 1:
            flaw = flaw or f"line {number}: {problem or 'not a list item'}; dump it again"
            continue
        count += 1
        if newest:
            yield newest
        newest = Item(value[0], number)
    text = "".join(above + below)
    if newest and not flaw and not _KIND_LINE.search(text):
        # Unlike JSON, YAML that is cut off can be whole YAML; but kubectl writes the kind of a
        # list below its items. The last of them may be half of one.
        count -= 1
        flaw = f"the YAML is cut off after {count} whole items; dump it again"
    elif newest:
        yield newest
    # With nothing below them, none of the items need be the last one of the list.
    is_whole = not newest or bool("".join(below).strip())
    yield from _yaml_rest(text, _Items(first, last, count, flaw, is_whole))


@dataclass(frozen=True, slots=True)
class _Items:
    """What came of the elements below `items:`, and the lines that the document spans."""

    first: int
    last: int
    count: int
    flaw: str | None
    is_whole: bool


def _yaml_rest(text: str, items: _Items) -> Iterator[Item | End]:
    """The end of a document, and what its text besides the items holds."""
    value, problem = _load(text)
    is_list = bool(items.count or items.flaw)
    if problem:
        flaw = f"{problem} after {items.count} whole items; dump it again"
        yield End({}, is_list, items.flaw or flaw, items.last)
        return
    if value is None and not is_list:
        return  # an empty document, such as what stands before the first separator
    if isinstance(value, dict) and (is_list or isinstance(value.get("items"), list)):
        entries = value.pop("items", None) or []
        is_list = True
    else:
        entries = value if isinstance(value, list) else [] if is_list else [value]
        is_list = is_list or isinstance(value, list)
    for entry in entries:
        yield Item(entry, items.first)
    is_proven = is_list and items.is_whole
    yield End(value if isinstance(value, dict) else {}, is_proven, items.flaw, items.last)


def _chunks(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str, bool]]:
    """Text of the header and of each element below a top-level `items:`, with its first line."""
    inside = False
    dash = ""
    start, item = 0, list[str]()
    size = 0
    for number, line in lines:
        if inside and _KEY_LINE.match(line):
            inside = False
            yield from _flush(start, item)
        if not inside:
            yield number, line, False
            inside = line.rstrip() == "items:"
            dash = ""
            continue
        bare = line.lstrip(" ")
        if not dash and bare.startswith("-"):
            dash = line[: len(line) - len(bare)] + "-"
        if dash and line.startswith(dash):
            yield from _flush(start, item)
            start, size = number, 0
        size += len(line)
        if size <= MAX_ITEM_CHARS:
            item.append(line)
    yield from _flush(start, item)


def _flush(start: int, item: list[str]) -> Iterator[tuple[int, str, bool]]:
    if item and "".join(item).strip():
        yield start, "".join(item), True
    item.clear()


def _load(text: str) -> tuple[Any, str | None]:
    """What a YAML text holds, or why it cannot be read."""
    if len(text) > MAX_ITEM_CHARS:
        return None, f"one piece is longer than {MAX_ITEM_CHARS} characters"
    try:
        if _has_alias(text):
            return None, "the YAML holds an alias (*name)"
        return yaml.load(text, Loader=_Loader), None  # noqa: S506 (a subclass of the safe loader)
    except RecursionError:
        return None, "the YAML is nested too deeply"
    except (yaml.YAMLError, ValueError, TypeError) as error:
        return None, f"the YAML is cut off or damaged ({_brief(error)})"


def _has_alias(text: str) -> bool:
    """Whether a text refers back to a part of itself; a few nested ones unfold to gigabytes."""
    return bool(_ANCHOR.search(text)) and any(
        isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=_Loader)
    )


def _brief(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    return f"{problem}, line {mark.line + 1}" if mark else str(problem).splitlines()[0]
