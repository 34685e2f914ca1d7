"""Takes secrets and personal data out of text before it is stored."""

from __future__ import annotations

import re
import sys
import tomllib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from goodput._resources import catalog_folders
from goodput.errors import GoodputError, UsageError
from goodput.logs.literals import required_literals

# Unicode's format characters (category Cf), fillers, variation selectors.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# Blocks in which Unicode's compatible forms of ASCII are: wide, raised, circled, mathematical.
_COMPATIBLE = re.compile(
    "[\u00a0-\u00ba\u0132\u0133\u017f\u01c7-\u01f3\u02b0-\u02e3\u037e\u1d2c-\u1dbb\u1fef-\u20a8"
    "\u2100-\u217f\u2460-\u24ea\u2a74-\u2a76\u2c7c\u2c7d\u3000\u3250-\u33ff\ua7f2-\ua7f4\ufb00-\ufb29"
    "\ufe10-\ufe6b\uff01-\uff5e\U000107a5\U0001d400-\U0001d7ff\U0001f100-\U0001f190"
    "\U0001fbf0-\U0001fbf9]"
)
# The letters beyond ASCII that expressions without case take for one of it.
_LIKE_ASCII = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")

_ENTITIES = {
    "amp": "&",
    "apos": "'",
    "colon": ":",
    "commat": "@",
    "equals": "=",
    "gt": ">",
    "lt": "<",
    "quot": '"',
    "sol": "/",
}
# A character as URLs, JSON or HTML write it, each perhaps written out more than once. A run of
# backslashes is looked at from its first one only, or the time would be its square. Up to three
# before a quote the expressions know themselves.
_ESCAPE = re.compile(
    r"%(?:25)*(?P<percent>[2-7][0-9A-Fa-f])"
    r"|(?P<utf8>(?:%(?:25)*[89A-Fa-f][0-9A-Fa-f])+)"
    r"|(?<!\\)\\+(?:u(?P<unicode>[0-9A-Fa-f]{4})|U(?P<long>[0-9A-Fa-f]{8})"
    r"|u\{(?P<braced>[0-9A-Fa-f]{1,6})\}|x(?P<byte>[0-9A-Fa-f]{2})"
    r"|(?P<octal>[01][0-7]{2})|(?P<slash>/))"
    r"|(?<!\\)\\{4,}(?P<quote>[\"'])"
    r"|&(?:amp;)*(?:#(?:0{0,4}(?P<decimal>[1-9]\d{1,6})|[xX]0{0,4}(?P<hexadecimal>[0-9A-Fa-f]{2,6}));?"
    rf"|(?P<entity>{'|'.join(_ENTITIES)});)"
)
_BASES = {"decimal": 10, "octal": 8}
# Of redactions.toml: (?&name).
_PART = re.compile(r"\(\?&(\w+)\)")
# Of URLs within JSON within HTML; what is hidden deeper nobody reads either.
_LAYERS = 3


@dataclass(frozen=True)
class Redaction:
    """One kind of text that is not kept; the groups `keep` before it and `end` behind it are.

    Attributes:
        holds: finds something in each text without_case() that matches.
    """

    label: str
    regex: re.Pattern[str]
    holds: re.Pattern[str]
    examples: tuple[dict[str, Any], ...]

    @cached_property
    def literals(self) -> frozenset[str]:
        """Of which each text that matches holds one, in whatever case; empty where none is known.

        Most texts hold none, and to look for them takes a tenth of the time of an expression.
        """
        try:
            found = required_literals(self.regex.pattern)
        except GoodputError:
            return frozenset()
        return found if all(map(str.isascii, found)) else frozenset()

    def may_match(self, low: str) -> bool:
        """False if no text that is this one without_case() matches."""
        if self.literals and not any(map(low.__contains__, self.literals)):
            return False
        return self.holds.search(low) is not None

    @cached_property
    def _instead(self) -> str:
        keep, end = (
            f"\\g<{name}>" if name in self.regex.groupindex else "" for name in ("keep", "end")
        )
        return f"{keep}[{self.label}]{end}"

    def apply(self, text: str) -> str:
        """The text with each match replaced by [label]."""
        return self.regex.sub(self._instead, text)


def redactions() -> tuple[Redaction, ...]:
    """The entries of redactions.toml, the user's after the shipped ones."""
    return _load(catalog_folders())


@cache
def _load(folders: tuple[Path, ...]) -> tuple[Redaction, ...]:
    found: list[Redaction] = []
    for path in (folder / "redactions.toml" for folder in folders):
        if path.is_file():
            found += _parse(path)
    return tuple(found)


@cache
def _groups(folders: tuple[Path, ...]) -> tuple[tuple[Redaction, ...], ...]:
    """Redactions in their order; neighbours that may match the same texts together."""
    groups = groupby(_load(folders), key=lambda redaction: (redaction.literals, redaction.holds))
    return tuple(tuple(group) for _, group in groups)


def _parse(path: Path) -> list[Redaction]:
    try:
        file = tomllib.loads(path.read_text(encoding="utf-8"))
        parts: dict[str, str] = {}
        for name, source in file.get("part", {}).items():
            parts[name] = _whole(source, parts)
        return [
            Redaction(
                r["label"],
                re.compile(_whole(r["regex"], parts)),
                re.compile(_whole(r.get("holds", ""), parts)),
                tuple(r.get("example", [])),
            )
            for r in file["redaction"]
        ]
    except (tomllib.TOMLDecodeError, AttributeError, KeyError, TypeError, re.error) as error:
        raise UsageError(
            f"{path} cannot be used: {error}; each [[redaction]] has a label and a regex"
        ) from None


def _whole(source: str, parts: dict[str, str]) -> str:
    """An expression with the parts that it names."""
    return _PART.sub(lambda named: parts[named[1]], source)


def redact(text: str) -> str:
    """A text without tokens, keys, passwords and e-mail addresses.

    A zero-width character or an escape in `token=` hides it from the expressions, not from a
    reader: where they find more in a copy that shows them, the copy is what is kept.
    """
    return _redacted(text, catalog_folders())


# What a cluster writes repeats: the objects of a page share their messages.
@lru_cache(maxsize=4096)
def _redacted(text: str, folders: tuple[Path, ...]) -> str:
    safe = _applied(text, folders)
    if text.isascii() and not _has_escapes(text):
        return safe
    # Nobody needs to hide a letter, so these are shown first, or a token would end at one. What
    # divides, an escaped space, is a part of a value: it is shown when the value is gone.
    bare = _shown(text, _letter)
    found = bare if bare == text else _applied(bare, folders)
    if found not in (bare, _shown(safe, _letter)):
        safe = found
    bare = _shown(safe, _character)
    found = bare if bare == safe else _applied(bare, folders)
    return safe if found == bare else found


def _applied(text: str, folders: tuple[Path, ...]) -> str:
    # What is replaced brings no literal with it, so that the text as it was says enough.
    low = without_case(text)
    for group in _groups(folders):
        if group[0].may_match(low):
            for redaction in group:
                text = redaction.apply(text)
    return text


def without_case(text: str) -> str:
    """A text in the case of literals, also of the letters that match one of ASCII."""
    return (text if text.isascii() else text.translate(_LIKE_ASCII)).lower()


def _has_escapes(text: str) -> bool:
    return ("%" in text or "\\" in text or "&" in text) and bool(_ESCAPE.search(text))


def _shown(text: str, as_read: Callable[[re.Match[str]], str]) -> str:
    """A text with its escapes and compatible forms as plain characters, without invisible ones."""
    for _ in range(_LAYERS):
        before = text
        if _has_escapes(text):
            # Characters beyond 16 bits are two in JSON; half of one could not be written.
            pairs = _ESCAPE.sub(as_read, text).encode("utf-16", "surrogatepass")
            text = pairs.decode("utf-16", "replace")
        if not text.isascii():
            text = _INVISIBLE.sub("", _COMPATIBLE.sub(_plain, text))
        if text == before:
            break
    return text


def _plain(match: re.Match[str]) -> str:
    """One by one: to normalise a text may take the square of its length."""
    return unicodedata.normalize("NFKC", match[0])


def _character(escape: re.Match[str]) -> str:
    """What an escape stands for; itself if that is a control character or none."""
    kind = str(escape.lastgroup)
    value = escape[kind]
    if kind in ("slash", "quote"):
        return value
    if kind == "entity":
        return _ENTITIES[value]
    if kind == "utf8":
        return bytes.fromhex(value.replace("25", "").replace("%", "")).decode("utf-8", "replace")
    code = int(value, _BASES.get(kind, 16))
    return chr(code) if ord(" ") <= code <= sys.maxunicode else escape[0]


def _letter(escape: re.Match[str]) -> str:
    """What an escape stands for if no writer had to escape it."""
    character = _character(escape)
    return character if character.isalnum() or not character.isascii() else escape[0]
