"""Values of Kubernetes objects made uniform: quantities, instants, texts that may be stored."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from goodput.logs.redact import redact

MAX_TEXT = 1024

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40}))"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?\d{1,2}))?\Z"
)
_WHOLE = re.compile(r"-?[0-9]{1,18}\Z")
_MOST = 10**18 - 1
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NO_NAME = re.compile(r"[^A-Za-z0-9._/-]")
# No secret is longer, from what tells it to its end.
_REACH = 512
# Go's zero time and the epoch stand for "never" in many writers.
_EARLIEST = datetime(1971, 1, 1, tzinfo=UTC)
_LAST_YEAR = 9999


def parse_quantity(value: Any) -> Fraction:
    """The exact number that a Kubernetes quantity stands for, such as "8", "8k", "100m" or "1Gi".

    Raises:
        ValueError: it is no quantity.
    """
    is_text = isinstance(value, str | int | float) and not isinstance(value, bool)
    return _quantity(str(value) if is_text else f"a {type(value).__name__}")


@lru_cache(maxsize=1024)
def _quantity(text: str) -> Fraction:
    match = _QUANTITY.match(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no quantity")
    number = Fraction(match["number"])
    if suffix := match["suffix"]:
        binary = _BINARY.get(suffix)
        return number * (2**binary if binary else Fraction(10) ** _DECIMAL[suffix])
    return number * Fraction(10) ** int(match["exponent"] or 0)


def parse_whole(value: Any, least: int = 0, most: int | None = None) -> int:
    """A whole number, also where its writer put it into a text, such as "13".

    Raises:
        ValueError: it is none, or beyond the bounds.
    """
    if type(value) is int and least <= value <= (_MOST if most is None else most):
        return value  # nearly always
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if not isinstance(number, bool) and _WHOLE.match(str(number)):
        found = int(number)
        if least <= found and (most is None or found <= most):
            return found
    bounds = "" if most is None else f" from {least} to {most}"
    raise ValueError(f"no whole number{bounds}; the field was left out")


def parse_instant(value: Any) -> datetime | None:
    """An RFC 3339 instant in UTC, to the millisecond; None for null and for zero times.

    Raises:
        ValueError: it is no instant with a zone.
    """
    return None if value is None or value == "" else _instant(str(value))


# Objects that are listed together share many instants.
@lru_cache(maxsize=4096)
def _instant(text: str) -> datetime | None:
    # Year 1 in a zone east of UTC has no UTC time, and it means "never" as well.
    if text.startswith("0001-"):
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no RFC 3339 time") from None
    if instant.tzinfo is None or not 1 < instant.year < _LAST_YEAR:
        raise ValueError(f"{text!r} is no RFC 3339 time with a zone")
    instant = instant.astimezone(UTC)
    if instant < _EARLIEST:
        return None
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def format_instant(instant: datetime) -> str:
    """The instant as it stands in a stored body."""
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clean_text(value: Any) -> str | None:
    """A text that every store takes: no NUL, no lone surrogates, not longer than MAX_TEXT."""
    if value is None:
        return None
    text = str(value)[:MAX_TEXT]
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def are_names(values: Iterable[Any]) -> bool:
    """Whether all of some values are names, which `safe_text` leaves as they are, or None."""
    try:
        text = "/".join([value for value in values if value is not None])
    except TypeError:
        return False
    return len(text) <= MAX_TEXT and not _NO_NAME.search(text)


def safe_text(value: Any, *, is_prose: bool = False) -> str | None:
    """A clean text without secrets, whoever wrote it.

    A name stays as it is, since others refer to it. What holds other characters is none.

    Args:
        is_prose: somebody's words, of which one that looks like a name may be a token.
    """
    if value is None:
        return None
    text = str(value)
    if not is_prose and not _NO_NAME.search(text):
        return text[:MAX_TEXT]
    if len(text) <= 2 * MAX_TEXT:
        return clean_text(redact(text))
    # A cut would part a secret from what tells it, so more is looked at than is kept.
    return clean_text(redact(text[: 2 * MAX_TEXT])[:-_REACH])
