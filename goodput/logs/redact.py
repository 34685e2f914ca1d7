"""Takes secrets and personal data out of text before it is stored."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
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


@dataclass(frozen=True)
class Redaction:
    """One kind of text that is not kept; the groups `keep` before it and `end` behind it are."""

    label: str
    regex: re.Pattern[str]
    examples: tuple[dict[str, Any], ...]

    @cached_property
    def _literals(self) -> frozenset[str]:
        """Of which each text that matches holds one, in whatever case; empty where none is known.

        Most texts hold none, and to look for them takes a tenth of the time of an expression.
        """
        try:
            return required_literals(self.regex.pattern)
        except GoodputError:
            return frozenset()

    def _may_match(self, text: str) -> bool:
        # Beyond ASCII there are letters that match others, such as the long s.
        if not self._literals or not text.isascii():
            return True
        low = text.lower()
        return any(literal in low for literal in self._literals)

    def apply(self, text: str) -> str:
        """The text with each match replaced by [label]."""
        if not self._may_match(text):
            return text
        keep, end = (
            f"\\g<{name}>" if name in self.regex.groupindex else "" for name in ("keep", "end")
        )
        return self.regex.sub(f"{keep}[{self.label}]{end}", text)


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


def _parse(path: Path) -> list[Redaction]:
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["redaction"]
        return [
            Redaction(r["label"], re.compile(r["regex"]), tuple(r.get("example", [])))
            for r in entries
        ]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, re.error) as error:
        raise UsageError(
            f"{path} cannot be used: {error}; each [[redaction]] has a label and a regex"
        ) from None


def redact(text: str) -> str:
    """A text without tokens, keys, passwords and e-mail addresses.

    A zero-width character in `token=` hides it from the expressions, not from a reader: where they
    find more without what is invisible, that goes, too.
    """
    return _redacted(text, catalog_folders())


# What a cluster writes repeats: the objects of a page share their messages.
@lru_cache(maxsize=4096)
def _redacted(text: str, folders: tuple[Path, ...]) -> str:
    bare = text if text.isascii() else _INVISIBLE.sub("", text)
    if bare != text and (safe := _applied(bare, folders)) != bare:
        return safe
    return _applied(text, folders)


def _applied(text: str, folders: tuple[Path, ...]) -> str:
    for redaction in _load(folders):
        text = redaction.apply(text)
    return text
