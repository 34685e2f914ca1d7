"""Finds literals that every match of a regular expression must contain.

A log of many megabytes is first scanned for all of them at once; only lines that hold one are tried
against the expressions. Whoever writes an expression need not name them.
"""

from __future__ import annotations

from re import _parser  # type: ignore[attr-defined]  # the only parser that agrees with `re` itself
from typing import Any

from goodput.errors import GoodputError

MIN_LENGTH = 2
_MAX_ALTERNATIVES = 48
_MAX_CLASS = 4

# Words of every training log: searching for them would find most of its lines.
_FREQUENT = {
    "checkpoint",
    "epoch",
    "error",
    "fail",
    "found",
    "grad",
    "loss",
    "reset",
    "step",
    "token",
}

Literals = frozenset[str]


def required_literals(pattern: str) -> Literals:
    """Lower-case strings of which at least one is in every text that matches.

    Raises:
        GoodputError: the expression can match without any fixed run of two characters.
    """
    found = _best(_candidates(list(_parser.parse(pattern))))
    if found is None or min(map(len, found)) < MIN_LENGTH:
        raise GoodputError(
            f"the pattern {pattern!r} has no fixed text of {MIN_LENGTH} characters that each match "
            "must contain; add some, so that large logs can be searched for it quickly"
        )
    return found


def _best(candidates: list[Literals]) -> Literals | None:
    """The choice that hits least often: long shortest member first, then few members."""
    usable = [c for c in candidates if c and all(c)]
    return max(usable, key=lambda c: (min(map(_rarity, c)), -len(c)), default=None)


def _rarity(literal: str) -> int:
    return MIN_LENGTH if literal.strip() in _FREQUENT else len(literal)


def _candidates(items: list[Any]) -> list[Literals]:
    """Sets of literals, each set complete by itself, for a sequence of parsed items."""
    found: list[Literals] = []
    run: Literals = frozenset([""])
    for item in _flatten(items):
        exact = _exact(item)
        if exact is not None and len(run) * len(exact) <= _MAX_ALTERNATIVES:
            run = frozenset(head + tail for head in run for tail in exact)
            continue
        found.append(run)
        run = exact if exact is not None else frozenset([""])
        if exact is None and (inner := _inner(item)) is not None:
            found.append(inner)
    return [*found, run]


def _flatten(items: list[Any]) -> list[Any]:
    """Items with groups dissolved and zero-width assertions left out."""
    flat: list[Any] = []
    for item in items:
        name, value = str(item[0]), item[1]
        if name == "SUBPATTERN":
            flat.extend(_flatten(list(value[3])))
        elif name != "AT":
            flat.append(item)
    return flat


def _exact(item: Any) -> Literals | None:
    """The finite set of strings an item can be, if it is small."""
    name, value = str(item[0]), item[1]
    if name == "LITERAL":
        return frozenset([chr(value).lower()])
    if name == "IN" and len(value) <= _MAX_CLASS and all(str(v[0]) == "LITERAL" for v in value):
        return frozenset(chr(v[1]).lower() for v in value)
    if name == "BRANCH":
        return _union([_exact_sequence(list(branch)) for branch in value[1]])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] == value[1] == 1:
        return _exact_sequence(list(value[2]))
    return None


def _exact_sequence(items: list[Any]) -> Literals | None:
    total: Literals = frozenset([""])
    for item in _flatten(items):
        exact = _exact(item)
        if exact is None or len(total) * len(exact) > _MAX_ALTERNATIVES:
            return None
        total = frozenset(head + tail for head in total for tail in exact)
    return total


def _inner(item: Any) -> Literals | None:
    """What must be inside an item that is not a fixed string itself."""
    name, value = str(item[0]), item[1]
    if name == "BRANCH":
        return _union([_best(_candidates(list(branch))) for branch in value[1]])
    if name in ("MAX_REPEAT", "MIN_REPEAT") and value[0] >= 1:
        return _best(_candidates(list(value[2])))
    return None


def _union(parts: list[Literals | None]) -> Literals | None:
    whole: set[str] = set()
    for part in parts:
        if part is None:
            return None
        whole |= part
    return frozenset(whole) if len(whole) <= _MAX_ALTERNATIVES else None
