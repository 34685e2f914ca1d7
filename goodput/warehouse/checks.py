"""Runs sql/90_checks and the grain of every model; rows returned are failures."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

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
        return self.rows > 0 and self.severity == "error"


def run_checks(con: duckdb.DuckDBPyConnection, models: list[Model]) -> list[CheckResult]:
    """Runs every check and stores what broke as tables checks.<name>, the summary as checks.summary."""
    con.execute("create schema if not exists checks")
    results = [_run_one(con, model) for model in models if model.schema == CHECKS]
    results += [
        _check_grain(con, model)
        for model in models
        if model.grain and model.schema not in (CHECKS, "raw")
    ]
    con.execute(
        "create or replace table checks.summary "
        "(name varchar, severity varchar, row_count bigint, description varchar)"
    )
    con.executemany(
        "insert into checks.summary values (?, ?, ?, ?)",
        [[r.name, r.severity, r.rows, r.description] for r in results],
    )
    return results


def _run_one(con: duckdb.DuckDBPyConnection, model: Model) -> CheckResult:
    con.execute(f"create or replace table {model.table} as\n{model.sql}")
    rows = con.sql(f"select count(*) from {model.table}").fetchall()[0][0]
    return CheckResult(model.name, model.keys.get("severity", "error"), rows, model.description)


def _check_grain(con: duckdb.DuckDBPyConnection, model: Model) -> CheckResult:
    grain = ", ".join(model.grain)
    rows = con.sql(
        f"select count(*) from (select 1 from {model.table} group by {grain} having count(*) > 1)"
    ).fetchall()[0][0]
    return CheckResult(
        f"grain of {model.table}", "error", rows, f"One row per {grain} in {model.table}."
    )
