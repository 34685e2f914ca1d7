"""Log lines that mean something: catalog/log_signatures.csv, matched by lowest precedence."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from goodput._resources import catalog_dir
from goodput.logs.literals import Literals, required_literals

MAX_EXCERPT = 500
_LOOKUP_GROUP = 2
_LOOKUPS = {"xid.csv": "xid", "sxid.csv": "sxid"}


@dataclass(frozen=True)
class Signature:
    """A kind of line and what it is evidence of.

    Attributes:
        failure_class: a class of taxonomy.csv, or the name of the table that knows it by code.
        role: root, either, cascade, teardown, info or lookup.
        strength: 3 proof, 2 strong, 1 suggestive, 0 none.
    """

    id: str
    precedence: int
    source: str
    failure_class: str
    domain: str
    role: str
    strength: int
    regex: re.Pattern[bytes]
    literals: Literals

    @property
    def evidence_source(self) -> str:
        """The source column of the evidence table: xid, sxid or log."""
        return _LOOKUPS.get(self.failure_class, "log")

    def code(self, match: re.Match[bytes]) -> str | None:
        """The number that a lookup signature found, such as the Xid."""
        return match[_LOOKUP_GROUP].decode() if self.evidence_source != "log" else None


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

    def search(
        self, line: bytes, present: frozenset[str]
    ) -> tuple[Signature, re.Match[bytes]] | None:
        """The same, with the match, where the literals that the line holds are known."""
        candidates = self._by_literals.get(present)
        if candidates is None:
            candidates = tuple(s for s in self.signatures if not s.literals.isdisjoint(present))
            self._by_literals[present] = candidates
        for signature in candidates:
            if match := signature.regex.search(line):
                return signature, match
        return None


@cache
def load_signatures(path: Path | None = None) -> SignatureSet:
    """The shipped signatures, or those of another file with the same columns."""
    path = path or catalog_dir() / "log_signatures.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return SignatureSet([_parse(row) for row in csv.DictReader(file)])


def _parse(row: dict[str, str]) -> Signature:
    return Signature(
        id=row["id"],
        precedence=int(row["precedence"]),
        source=row["source"],
        failure_class=row["class"],
        domain=row["domain"],
        role=row["role"],
        strength=int(row["strength"]),
        regex=re.compile(row["regex"].encode()),
        literals=required_literals(row["regex"]),
    )


def match(line: bytes) -> Signature | None:
    """The shipped signature with the lowest precedence that matches a line, or None."""
    return load_signatures().match(line)


def excerpt(line: bytes, found: re.Match[bytes]) -> str:
    """The part of a line around a match, at most MAX_EXCERPT characters."""
    start = 0
    if found.end() > MAX_EXCERPT:
        start = max(0, min(found.start(), found.end() - MAX_EXCERPT))
    return line[start : start + MAX_EXCERPT].decode("utf-8", "replace").strip()
