"""Finds the numbered SQL files: folder is schema, file is table, sorted path is execution order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from goodput._resources import resource_dir
from goodput.errors import GoodputError

_NUMBERED = re.compile(r"\d+_(?P<name>.+)")
_KEYS = (
    "grain|day|severity|label|kind|sorted by|sharded by|stored as runs|stored as numbers"
    "|nothing without"
)
_KEY = re.compile(rf"--\s*(?P<key>{_KEYS}):\s*(?P<value>.+?)\s*\Z")
_COMMENT = re.compile(r"--.*")
_QUALIFIED = re.compile(r"\b([a-z]+)\.[a-z_0-9]+\b")
_READ_FROM = re.compile(
    r"main|meta|raw|observed|gathered|staged|intervals|ledger|views|rollups|metrics|report"
)


@dataclass(frozen=True)
class Model:
    """One SQL file: a table's DDL (00_raw), a table's SELECT, or a check (90_checks)."""

    path: Path
    schema: str
    name: str
    sql: str
    description: str
    keys: dict[str, str]

    @property
    def table(self) -> str:
        """The qualified name of the table it makes."""
        return f"{self.schema}.{self.name}"

    @property
    def is_view(self) -> bool:
        """Whether it is computed anew by whoever reads it, instead of being stored."""
        return self.keys.get("kind") == "view"

    @property
    def definition(self) -> str:
        """The statement that makes it."""
        kind = "view" if self.is_view else "table"
        return f"create {kind} {self.table} as\n{self.sql}"

    @cached_property
    def reads(self) -> frozenset[str]:
        """The tables that it reads, but for those of the catalogue."""
        found = _QUALIFIED.finditer(_COMMENT.sub("", self.sql))
        return frozenset(match[0] for match in found if _READ_FROM.fullmatch(match[1]))

    @property
    def grain(self) -> list[str]:
        """The columns that identify a row; empty where the grain is the row itself."""
        grain = self.listed("grain")
        return [] if grain == ["row"] else grain

    def listed(self, key: str) -> list[str]:
        """The columns that its header lists under a key."""
        columns = (column.strip() for column in self.keys.get(key, "").split(","))
        return [column for column in columns if column]


def _strip_number(name: str) -> str:
    match = _NUMBERED.fullmatch(name)
    if not match:
        raise GoodputError(f"{name} under sql/ has no number; name it like 310_capacity.sql")
    return match["name"]


def parse_model(path: Path) -> Model:
    """Reads one file; its leading comment is the description and the keys of its header."""
    return _parsed(path, path.read_text(encoding="utf-8"))


@cache
def _parsed(path: Path, sql: str) -> Model:
    description: list[str] = []
    keys: dict[str, str] = {}
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        if match := _KEY.fullmatch(line):
            keys[match["key"]] = match["value"]
        else:
            description.append(line.removeprefix("--").strip())
    return Model(
        path=path,
        schema=_strip_number(path.parent.name),
        name=_strip_number(path.stem),
        sql=sql,
        description=" ".join(description).strip(),
        keys=keys,
    )


def find_models(root: Path | None = None, schema: str = "*") -> list[Model]:
    """SQL files in execution order, all of them or those of one schema."""
    root = root or resource_dir("sql")
    return [parse_model(path) for path in sorted(root.glob(f"[0-9]*_{schema}/[0-9]*.sql"))]
