"""What a line of evidence says about a failure: class, role and strength, as the lake judges it.

The numbers are the catalogue's: log_signatures.csv for most lines, xid.csv and sxid.csv where a
line names a code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from goodput._resources import catalog_folders, catalog_rows
from goodput.logs.events import Evidence

_UNKNOWN = "unk.none"


@dataclass(frozen=True, slots=True)
class FailureClass:
    """A row of taxonomy.csv: its domain and the group that it is counted in."""

    name: str
    domain: str
    group: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What evidence is worth: a class of taxonomy.csv, a role, and a strength from 0 to 3."""

    failure_class: str
    role: str
    strength: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A line with what it is worth."""

    evidence: Evidence
    judgement: Judgement

    @property
    def line(self) -> int:
        """Where it is: number from 1."""
        return self.evidence.line

    @property
    def is_symptom(self) -> bool:
        """Whether the line follows from something else."""
        return self.judgement.role in ("cascade", "teardown")

    @property
    def domain(self) -> str:
        """The domain of its class: infra, platform, app, user, unknown, baseline."""
        return classes()[self.judgement.failure_class].domain


def classes() -> dict[str, FailureClass]:
    """The failure classes by name."""
    return _classes(catalog_folders())


@cache
def _classes(folders: tuple[Path, ...]) -> dict[str, FailureClass]:
    return {
        row["class"]: FailureClass(row["class"], row["domain"], row["failure_group"])
        for row in catalog_rows("taxonomy", folders)
    }


@cache
def _codes(table: str, folders: tuple[Path, ...]) -> dict[str, Judgement]:
    return {
        row[table]: Judgement(row["class"], row["role"], int(row["strength"]))
        for row in catalog_rows(table, folders)
        if row["class"]
    }


# Sources of evidence whose codes a table of the same name knows.
_LOOKUPS = {"xid", "sxid"}


def finding(evidence: Evidence) -> Finding:
    """Looks up what a line is worth; a code that no table knows explains nothing."""
    signature = evidence.signature
    source = signature.evidence_source
    if source in _LOOKUPS:
        codes = _codes(source, catalog_folders())
        judgement = codes.get(evidence.code or "", Judgement(_UNKNOWN, "info", 0))
    else:
        judgement = Judgement(signature.failure_class, signature.role, signature.strength)
    return Finding(evidence, judgement)
