"""Finds literals that every match of a regular expression must contain.

A log of many megabytes is first scanned for all of them at once; only lines that hold one are tried
against the expressions. Whoever writes an expression need not name them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from re import _parser  # type: ignore[attr-defined]
from re._constants import AT, LITERAL, SUBPATTERN  # type: ignore[import-not-found]
from typing import Any

from goodput.errors import GoodputError

MIN_LENGTH = 2
_MAX_ALTERNATIVES = 48
_MAX_CLASS = 4

# Words of every training log: searching for them would find most of its lines.
_FREQUENT = {
    "argument",
    "checkpoint",
    "command",
    "epoch",
    "error",
    "fail",
    "found",
    "grad",
    "loss",
    "manager",
    "node",
    "not found",
    "reset",
    "step",
    "token",
    "training",
    "will",
}

Literals = frozenset[str]


@lru_cache(maxsize=1)
def parsed(source: str) -> Any:
    """An expression as Python's own parser reads it: no other agrees with `re` itself.

    One after another asks for the same.
    """
    return _parser.parse(source)


def required_literals(pattern: str) -> Literals:
    """Lower-case strings of which at least one is in every text that matches.

    Raises:
        GoodputError: the expression can match without any fixed run of two characters.
    """
    found = _best(_candidates(parsed(pattern).data))
    if found is None or min(map(_length, found)) < MIN_LENGTH:
        raise GoodputError(
            f"the pattern {pattern!r} has no fixed text of {MIN_LENGTH} characters that each match "
            "must contain; add some, so that large logs can be searched for it quickly"
        )
    return found


def _best(candidates: list[Literals]) -> Literals | None:
    """The choice that hits least often: long shortest member first, then few members."""
    usable = [_shortest(c) for c in candidates if c and all(c)]
    return max(usable, key=lambda c: (min(map(_rarity, c)), -len(c)), default=None)


def _shortest(literals: Literals) -> Literals:
    """Without those that hold another one."""
    return frozenset(a for a in literals if not any(b in a for b in literals if b != a))


def _rarity(literal: str) -> int:
    if _length(literal) < MIN_LENGTH:
        return 0
    return MIN_LENGTH if literal.strip() in _FREQUENT else len(literal)


def _length(literal: str) -> int:
    """Spaces at the ends do not count: a colon and one are in most lines."""
    return len(literal.strip())


def _candidates(items: list[Any]) -> list[Literals]:
    """Sets of literals, each set complete by itself, for a sequence of parsed items."""
    found: list[Literals] = []
    run: Literals = frozenset([""])
    for item in _flatten(items):
        exact = _exact(item)
        longer = None if exact is None else _joined(run, exact)
        if longer is not None:
            run = longer
            continue
        if exact is not None:
            found.append(run)
            run = exact
            continue
        found.append(_joined(run, _heads(item)) or run)
        run = frozenset([""])
        if (inner := _inner(item)) is not None:
            found.append(inner)
    return [*found, run]


def _joined(heads: Literals, tails: Literals | None) -> Literals | None:
    """Each of the one before each of the other; None if they are too many."""
    if tails is None or len(heads) * len(tails) > _MAX_ALTERNATIVES:
        return None
    return frozenset(head + tail for head in heads for tail in tails)


def _heads(item: Any) -> Literals | None:
    """What an item that is no fixed string itself can begin with; None if that is anything."""
    name, value = item[0].name, item[1]
    if name == "BRANCH":
        return _union([_head(branch.data) for branch in value[1]])
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        head = _head(value[2].data)
        return head if value[0] or head is None else head | {""}
    return None


def _head(items: list[Any]) -> Literals | None:
    """What a sequence can begin with."""
    run: Literals = frozenset([""])
    for item in _flatten(items):
        exact = _exact(item)
        longer = _joined(run, exact if exact is not None else _heads(item))
        if longer is None:
            return run if run != {""} else None
        run = longer
        if exact is None:
            break
    return run


def _flatten(items: list[Any]) -> list[Any]:
    """Items with groups dissolved, assertions left out, and characters in a row as one text."""
    flat: list[Any] = []
    run = ""
    for item in _dissolved(items):
        if isinstance(item, str):
            run += item
            continue
        if run:
            flat.append(run)
            run = ""
        flat.append(item)
    return [*flat, run] if run else flat


def _dissolved(items: list[Any]) -> Iterator[Any]:
    """The items, characters as such, without groups and assertions."""
    for item in items:
        code, value = item
        if code is LITERAL:
            yield chr(value).lower()
        elif code is SUBPATTERN:
            yield from _dissolved(value[3].data)
        elif code is not AT:
            yield item


def _exact(item: Any) -> Literals | None:
    """The finite set of strings an item can be, if it is small."""
    if isinstance(item, str):
        return frozenset([item])
    name, value = item[0].name, item[1]
    if name == "IN" and len(value) <= _MAX_CLASS and all(v[0].name == "LITERAL" for v in value):
        return frozenset(chr(v[1]).lower() for v in value)
    if name == "BRANCH":
        return _union([_exact_sequence(branch.data) for branch in value[1]])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[1] == 1:
        exact = _exact_sequence(value[2].data)
        return exact if exact is None or value[0] else exact | {""}
    return None


def _exact_sequence(items: list[Any]) -> Literals | None:
    total: Literals | None = frozenset([""])
    for item in _flatten(items):
        exact = _exact(item)
        total = None if exact is None or total is None else _joined(total, exact)
        if total is None:
            return None
    return total


def _inner(item: Any) -> Literals | None:
    """What must be inside an item that is not a fixed string itself."""
    name, value = item[0].name, item[1]
    if name == "BRANCH":
        return _union([_best(_candidates(branch.data)) for branch in value[1]])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1:
        return _best(_candidates(value[2].data))
    return None


def _union(parts: list[Literals | None]) -> Literals | None:
    whole: set[str] = set()
    for part in parts:
        if part is None:
            return None
        whole |= part
    return frozenset(whole) if len(whole) <= _MAX_ALTERNATIVES else None
