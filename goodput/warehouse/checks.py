"""Runs sql/90_checks and the grain of every model; rows returned are failures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import duckdb

from goodput.errors import GoodputError
from goodput.warehouse.models import Model

CHECKS = "checks"


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


def run_checks(con: duckdb.DuckDBPyConnection, models: list[Model]) -> list[CheckResult]:
    """Runs every check; stores what broke as checks.<name> and the outcome as checks.summary."""
    con.execute(f"create schema if not exists {CHECKS}")
    for model in _checks(models):
        try:
            con.execute(f"create or replace table {model.table} as\n{model.sql}")
        except duckdb.Error as error:
            raise GoodputError(f"the check {model.name} failed to run: {error}") from error
    results = [_outcome(con, model, model.table) for model in _checks(models)]
    results += _check_grains(con, models)
    con.execute(
        "create or replace table checks.summary "
        "(name varchar, severity varchar, row_count bigint, description varchar)"
    )
    con.executemany(
        "insert into checks.summary values (?, ?, ?, ?)",
        [[r.name, r.severity, r.rows, r.description] for r in results],
    )
    return results


def repeat_checks(con: duckdb.DuckDBPyConnection, models: list[Model]) -> list[CheckResult]:
    """Runs every check again over a warehouse that is open for reading, storing nothing."""
    results = [_outcome(con, model, f"({_statement(model)})") for model in _checks(models)]
    return results + _check_grains(con, models)


def _checks(models: Iterable[Model]) -> list[Model]:
    return [model for model in models if model.schema == CHECKS]


def _with_grain(models: Iterable[Model]) -> list[Model]:
    stored = (model for model in models if not model.is_view)
    return [model for model in stored if model.grain and model.schema not in (CHECKS, "raw")]


def _statement(model: Model) -> str:
    """The check's SELECT as a subquery; a comment on its last line must not swallow the bracket."""
    return model.sql.rstrip().removesuffix(";") + "\n"


def _outcome(con: duckdb.DuckDBPyConnection, model: Model, rows_of: str) -> CheckResult:
    rows = con.sql(f"select count(*) from {rows_of}").fetchall()[0][0]
    return CheckResult(model.name, model.keys.get("severity", "error"), rows, model.description)


def _check_grains(con: duckdb.DuckDBPyConnection, models: list[Model]) -> list[CheckResult]:
    # Rows that were deleted still count here, so a size is never too small. Most tables of a small
    # fleet are empty, and a statement for each of them would show.
    sizes = dict(
        con.sql(
            "select schema_name || '.' || table_name, estimated_size from duckdb_tables()"
        ).fetchall()
    )
    return [_check_grain(con, model, sizes.get(model.table)) for model in _with_grain(models)]


def _check_grain(con: duckdb.DuckDBPyConnection, model: Model, size: int | None) -> CheckResult:
    grain = ", ".join(model.grain)
    rows = 0
    if size not in (0, 1):
        [(rows,)] = con.sql(
            f"select count(*) from"
            f" (select 1 from {model.table} group by {grain} having count(*) > 1)"
        ).fetchall()
    return CheckResult(
        f"grain of {model.table}", "error", rows, f"One row per {grain} in {model.table}."
    )
