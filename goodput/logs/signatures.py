"""Log lines that mean something: catalog/log_signatures.csv, matched by lowest precedence."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from goodput._resources import catalog_dir, catalog_folders, catalog_rows
from goodput.errors import GoodputError, UsageError
from goodput.logs.literals import Literals, required_literals
from goodput.logs.redact import redact
from goodput.logs.regex import Match, Regex

MAX_EXCERPT = 500
_CONTEXT = 1000
_LOOKUP_GROUP = 2
ROLES = ("root", "either", "cascade", "teardown", "info", "lookup")
_LOOKUPS = {"xid.csv": "xid", "sxid.csv": "sxid"}


@dataclass(frozen=True)
class Signature:
    """A kind of line and what it is evidence of.

    Attributes:
        failure_class: a class of taxonomy.csv, or the name of the table that knows it by code.
        role: root, either, cascade, teardown, info or lookup.
        strength: 3 proof, 2 strong, 1 suggestive, 0 none.
        example: a line that it is the first to match.
    """

    id: str
    precedence: int
    source: str
    failure_class: str
    role: str
    strength: int
    regex: Regex
    literals: Literals
    example: str

    @property
    def evidence_source(self) -> str:
        """The source column of the evidence table: xid, sxid or log."""
        return _LOOKUPS.get(self.failure_class, "log")

    def code(self, match: Match) -> str | None:
        """The number that a lookup signature found, such as the Xid."""
        code = match[_LOOKUP_GROUP] if self.evidence_source != "log" else None
        return None if code is None else code.decode()


class SignatureSet:
    """Signatures in order of precedence, tried only where a literal of theirs is present."""

    def __init__(self, signatures: Collection[Signature]) -> None:
        self.signatures = sorted(signatures, key=lambda s: s.precedence)
        self.literals = frozenset[str]().union(*(s.literals for s in self.signatures))
        self._by_literals: dict[frozenset[str], tuple[Signature, ...]] = {}

    def match(self, line: bytes) -> Signature | None:
        """The signature with the lowest precedence that a line (without prefixes) matches."""
        low = line.lower().decode("latin-1")
        found = self.search(line, frozenset(text for text in self.literals if text in low))
        return found[0] if found else None

    def search(self, line: bytes, present: frozenset[str]) -> tuple[Signature, Match] | None:
        """The same, with the match, where the literals that the line holds are known."""
        for signature in self.candidates(present):
            if match := signature.regex.search(line):
                return signature, match
        return None

    def candidates(self, present: frozenset[str]) -> tuple[Signature, ...]:
        """Those that lines with these literals may match, in order of precedence."""
        candidates = self._by_literals.get(present)
        if candidates is None:
            candidates = tuple(s for s in self.signatures if not s.literals.isdisjoint(present))
            self._by_literals[present] = candidates
        return candidates


def load_signatures() -> SignatureSet:
    """The signatures of the catalogue in use."""
    return _load(catalog_folders())


@cache
def unknown_error() -> Signature:
    """What a line is that looks like an error and that no signature knows."""
    text = (catalog_dir() / "log_lines.toml").read_text(encoding="utf-8")
    source = tomllib.loads(text)["unknown"]["regex"]
    return Signature(
        id="unknown",
        precedence=0,
        source="any",
        failure_class="unk.none",
        role="info",
        strength=0,
        regex=Regex(source, is_shipped=True),
        literals=required_literals(source),
        example="",
    )


@cache
def _load(folders: tuple[Path, ...]) -> SignatureSet:
    known = {row["class"] for row in catalog_rows("taxonomy", folders)} | set(_LOOKUPS)
    is_shipped = folders == (catalog_dir(),)
    rows = catalog_rows("log_signatures", folders)
    return SignatureSet([_parse(row, known, is_shipped=is_shipped) for row in rows])


def _parse(row: dict[str, str], known_classes: set[str], *, is_shipped: bool) -> Signature:
    try:
        if row["class"] not in known_classes:
            raise UsageError(f"{row['class']!r} is no class of taxonomy.csv")
        if row["role"] not in ROLES or row["strength"] not in ("0", "1", "2", "3"):
            raise UsageError(f"role is one of {', '.join(ROLES)}, strength a number from 0 to 3")
        return Signature(
            id=row["id"],
            precedence=int(row["precedence"]),
            source=row["source"],
            failure_class=row["class"],
            role=row["role"],
            strength=int(row["strength"]),
            regex=Regex(row["regex"], is_shipped=is_shipped),
            literals=required_literals(row["regex"]),
            example=row["example"],
        )
    except (GoodputError, ValueError) as error:
        raise UsageError(f"the signature {row['id']!r} cannot be used: {error}") from None


def match(line: bytes) -> Signature | None:
    """The shipped signature with the lowest precedence that matches a line, or None."""
    return load_signatures().match(line)


def excerpt(line: bytes, found: Match, regex: Regex) -> str:
    """The part of a line around a match, redacted, at most MAX_EXCERPT bytes.

    A secret is known by what stands before it, so more is redacted than is kept.
    """
    begin = max(0, found.start() - _CONTEXT)
    window = line[begin : found.start() + _CONTEXT + MAX_EXCERPT]
    text = redact(window.decode("utf-8", "replace")).encode()
    again = regex.search(text)
    start = begin and _CONTEXT
    if again is not None:
        start = min(again.start(), max(0, again.end() - MAX_EXCERPT))
        start = start if begin or again.end() > MAX_EXCERPT else 0
    return text[start : start + MAX_EXCERPT].decode("utf-8", "ignore").strip()
