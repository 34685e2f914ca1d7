"""Regular expressions for hostile text: time linear in its length, whatever the expression.

RE2 does the work. Python's `re` is several times as fast where a short line matches a simple
expression, as step lines do, and takes over there: its work is bounded by the square of _SHORT.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Protocol

import re2

from goodput.errors import UsageError
from goodput.logs.literals import parsed

_SHORT = 512
# Expressions that hold more runs of anything, or runs within runs, are left to RE2.
_MAX_WILD_RUNS = 2
# What holds all digits or none.
_BLIND = {"ANY", "AT", "CATEGORY"}
_NARROW = {"LITERAL", "RANGE"}
_NARROW_CATEGORIES = {"CATEGORY_DIGIT", "CATEGORY_SPACE"}

Span = tuple[int, int]


class Match(Protocol):
    """What both engines say of a match."""

    string: bytes

    def start(self) -> int:
        """Where it begins."""

    def end(self) -> int:
        """Where it ends."""

    def span(self, group: int) -> Span:
        """Where a group, counted from 1, begins and ends; (-1, -1) if it took no part."""

    def groups(self) -> tuple[bytes | None, ...]:
        """What each group took."""

    def __getitem__(self, group: int) -> bytes | None:
        """What a group, counted from 1, took; 0 is all of it."""


class Regex:
    """An expression of the subset that `re` and RE2 share, over bytes."""

    __slots__ = ("_groups", "_is_blind", "_linear", "_short", "_test", "source")

    def __init__(self, source: str, *, is_shipped: bool = False) -> None:
        """Takes an expression; a shipped one, which tests compile, is compiled when it is wanted.

        Raises:
            UsageError: one of the engines does not know it: back-references, look-around.
        """
        self.source = source
        self._linear: Any = None if is_shipped else self._compiled()
        self._groups = tuple(parsed(source).state.groupdict.items())
        self._short: Any = None
        self._test: Any = None
        self._is_blind: bool | None = None

    def _compiled(self) -> Any:
        source = self.source
        try:
            return re2.compile(source.encode(), _options())
        except re2.error as error:
            reason = error.args[0]
            text = reason.decode() if isinstance(reason, bytes) else reason
            raise UsageError(
                f"the expression {source!r} does not compile: {text}; RE2 knows neither "
                "back-references nor look-around, and counts to 1000"
            ) from None

    def search(self, line: bytes) -> Match | None:
        """The first match in a line."""
        if self._short is None:
            self._choose()
        if self._test is not None and self._test.search(line) is None:
            return None
        found: Match | None = (self._linear if len(line) > _SHORT else self._short).search(line)
        return found

    def _choose(self) -> None:
        """Makes the engines when they are first wanted: most expressions never are."""
        if self._linear is None:
            self._linear = self._compiled()
        self._short = re.compile(self.source.encode()) if _is_simple(self.source) else self._linear
        if "(?i" in self.source:
            # `re` has no quick way to where such a match may begin; RE2 has, if it need not say
            # what the groups took.
            self._test = re2.compile(self.source.encode(), _options(never_capture=True))

    def all(self, line: bytes) -> Iterator[Match]:
        """All matches in a line that do not overlap."""
        if self._short is None:
            self._choose()
        yield from self._linear.finditer(line)

    def count(self, line: bytes) -> int:
        """How many matches a line has that do not overlap."""
        if self._short is None:
            self._choose()
        return len((self._linear if len(line) > _SHORT else self._short).findall(line))

    @property
    def treats_digits_alike(self) -> bool:
        """Whether it matches the same texts where any digit is put in place of another."""
        if self._is_blind is None:
            self._is_blind = _is_blind(parsed(self.source).data)
        return self._is_blind

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of its groups."""
        return tuple(name for name, _ in self._groups)

    def named(self, found: Match) -> dict[str, bytes]:
        """What the named groups of a match took; without those that took no part in it."""
        texts = found.groups()
        return {
            name: text for name, index in self._groups if (text := texts[index - 1]) is not None
        }

    def spans(self, found: Match) -> dict[str, Span]:
        """Where these groups are."""
        spans = {name: found.span(index) for name, index in self._groups}
        return {name: span for name, span in spans.items() if span[0] >= 0}


def _options(*, never_capture: bool = False) -> Any:
    options = re2.Options()
    options.never_capture = never_capture
    options.encoding = re2.Options.Encoding.LATIN1  # bytes are characters, whatever they mean
    options.log_errors = False
    return options


def _is_simple(source: str) -> bool:
    runs = _wild_runs(parsed(source).data)
    return runs is not None and runs <= _MAX_WILD_RUNS


def _wild_runs(items: list[Any]) -> int | None:
    """How many unbounded runs of anything there are; None if a run holds another one."""
    total = 0
    for item in items:
        name, value = item[0].name, item[1]
        if name == "SUBPATTERN":
            runs = _wild_runs(list(value[3]))
        elif name == "BRANCH":
            runs = _sum([_wild_runs(list(branch)) for branch in value[1]])
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            runs = _repeated(value)
        else:
            runs = 0
        if runs is None:
            return None
        total += runs
    return total


def _sum(runs: list[int | None]) -> int | None:
    known = [count for count in runs if count is not None]
    return sum(known) if len(known) == len(runs) else None


def _repeated(value: Any) -> int | None:
    inner = list(value[2])
    if value[1] is not _parser.MAXREPEAT:
        return _wild_runs(inner)
    if len(inner) != 1 or inner[0][0].name not in {"LITERAL", "NOT_LITERAL", "ANY", "IN"}:
        return None
    return 0 if _is_narrow(inner[0]) else 1


def _is_narrow(item: Any) -> bool:
    """Whether a class of characters is of digits, spaces and a few others."""
    name, value = item[0].name, item[1]
    if name == "IN":
        return all(
            part[0].name in _NARROW
            or (part[0].name == "CATEGORY" and part[1].name in _NARROW_CATEGORIES)
            for part in value
        )
    return bool(name == "LITERAL")


def _is_blind(items: Iterable[Any]) -> bool:
    return all(_is_item_blind(item[0].name, item[1]) for item in items)


def _is_item_blind(name: str, value: Any) -> bool:
    if name in ("LITERAL", "NOT_LITERAL"):
        return not chr(value).isdecimal()
    if name == "IN":
        digits = {digit for digit in b"0123456789" if _is_in(digit, value)}
        return len(digits) in (0, 10)
    if name == "BRANCH":
        return all(map(_is_blind, value[1]))
    if name == "SUBPATTERN":
        return _is_blind(value[3])
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        return _is_blind(value[2])
    return name in _BLIND


def _is_in(digit: int, parts: Iterable[Any]) -> bool:
    """Whether a class names a digit by itself or in a range; categories hold all or none."""
    return any(
        part[1] == digit if part[0].name == "LITERAL" else part[1][0] <= digit <= part[1][1]
        for part in parts
        if part[0].name in ("LITERAL", "RANGE")
    )
