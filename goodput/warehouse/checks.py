"""Runs sql/90_checks and the grain of every model; rows returned are failures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import duckdb

from goodput.errors import GoodputError
from goodput.warehouse.emptiness import EmptyTables
from goodput.warehouse.models import Model

CHECKS = "checks"
_ROWS_TOGETHER = 100_000
"""Tables up to this size are looked at in one statement, since most of what each costs is its
planning; larger ones one by one, since what they need in memory would add up."""


@dataclass(frozen=True)
class CheckResult:
    """How one check ended: the number of rows that break it, and whether that is an error."""

    name: str
    severity: str
    rows: int
    description: str

    @property
    def failed(self) -> bool:
        """Whether it broke and counts as an error."""
        return self.rows > 0 and self.severity == "error"


def outcome_words(total: int, failed: int, warned: int) -> str:
    """How many checks hold, and how many warn."""
    held = total - failed - warned
    return f"{held} of {total} checks hold" + (f", {warned} warn" if warned else "")


def run_checks(
    con: duckdb.DuckDBPyConnection, models: list[Model], empty: EmptyTables
) -> list[CheckResult]:
    """Runs every check; stores what broke as checks.<name> and the outcome as checks.summary."""
    con.execute(f"create schema {CHECKS}")
    results = [_store_check(con, model, empty) for model in _checks(models)]
    results += _check_grains(con, models)
    con.execute(
        "create table checks.summary "
        "(name varchar, severity varchar, row_count bigint, description varchar)"
    )
    columns = zip(*((r.name, r.severity, r.rows, r.description) for r in results), strict=True)
    # One statement: to insert row by row costs as much as all the checks.
    con.execute(
        "insert into checks.summary select unnest(?), unnest(?), unnest(?), unnest(?)",
        [list(column) for column in columns],
    )
    return results


def repeat_checks(con: duckdb.DuckDBPyConnection, models: list[Model]) -> list[CheckResult]:
    """Runs every check again over a warehouse that is open for reading, storing nothing."""
    results = [
        _outcome(model, _count(con, f"select count(*) from ({_statement(model)})"))
        for model in _checks(models)
    ]
    return results + _check_grains(con, models)


def _store_check(con: duckdb.DuckDBPyConnection, model: Model, empty: EmptyTables) -> CheckResult:
    rows = 0
    try:
        if empty.imply(model):
            empty.make(con, model)
        else:
            rows = _count(con, model.definition)
    except duckdb.Error as error:
        raise GoodputError(f"the check {model.name} failed to run: {error}") from error
    return _outcome(model, rows)


def _checks(models: Iterable[Model]) -> list[Model]:
    return [model for model in models if model.schema == CHECKS]


def _with_grain(models: Iterable[Model]) -> list[Model]:
    stored = (model for model in models if not model.is_view)
    return [model for model in stored if model.grain and model.schema not in (CHECKS, "raw")]


def _statement(model: Model) -> str:
    """The check's SELECT as a subquery; a comment on its last line must not swallow the bracket."""
    return model.sql.rstrip().removesuffix(";") + "\n"


def _outcome(model: Model, rows: int) -> CheckResult:
    return CheckResult(model.name, model.keys.get("severity", "error"), rows, model.description)


def _count(con: duckdb.DuckDBPyConnection, statement: str) -> int:
    """The number that a statement gives: what it counts, or how many rows it stored."""
    [(rows,)] = con.execute(statement).fetchall()
    return int(rows)


def _check_grains(con: duckdb.DuckDBPyConnection, models: list[Model]) -> list[CheckResult]:
    # Rows that were deleted still count here, so a size is never too small.
    sizes = dict(
        con.sql(
            "select schema_name || '.' || table_name, estimated_size from duckdb_tables()"
        ).fetchall()
    )
    graded = [(model, sizes.get(model.table, math.inf)) for model in _with_grain(models)]
    small = [model for model, size in graded if 1 < size <= _ROWS_TOGETHER]
    large = [model for model, size in graded if size > _ROWS_TOGETHER]
    repeated: dict[str, int] = {}
    for together in filter(None, [small, *([model] for model in large)]):
        repeated |= con.sql(" union all ".join(map(_repeated_sql, together))).fetchall()
    return [_grain_outcome(model, repeated.get(model.table, 0)) for model, _ in graded]


def _repeated_sql(model: Model) -> str:
    """Counts the keys of a table that several rows have."""
    return (
        f"select '{model.table}', count(*) from (select 1 from {model.table}"
        f" group by {', '.join(model.grain)} having count(*) > 1)"
    )


def _grain_outcome(model: Model, rows: int) -> CheckResult:
    return CheckResult(
        f"grain of {model.table}",
        "error",
        rows,
        f"One row per {', '.join(model.grain)} in {model.table}.",
    )
