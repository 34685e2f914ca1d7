"""Builds every model for one window at one knowledge time, then runs the checks.

The result is one DuckDB file that is renamed into place when it is whole: a reader sees the last
complete build or the next one, never half of either.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb

from goodput._resources import catalog_dir
from goodput.errors import UsageError
from goodput.lake import Lake
from goodput.warehouse.checks import CheckResult, run_checks
from goodput.warehouse.connection import connect
from goodput.warehouse.models import Model, find_models
from goodput.window import Window

RAW = "raw"
CHECKS = "checks"


@dataclass(frozen=True)
class BuildResult:
    """What a build made: the database file and how its checks ended."""

    database: Path
    checks: list[CheckResult]


def build(
    lake: Lake,
    window: Window,
    as_of: datetime | None = None,
    params: Mapping[str, str] | None = None,
) -> BuildResult:
    """Builds the models of one window.

    Args:
        lake: where the raw rows are.
        window: the half-open UTC interval to account for.
        as_of: knowledge time; rows ingested later are not used and later instants are not known.
            None means now.
        params: overrides of the parameters in catalog/parameters.csv, as text.

    Raises:
        UsageError: a parameter that does not exist or does not fit its type.
    """
    target = lake.warehouse_path
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.{uuid4().hex}")
    try:
        con = connect(scratch)
        try:
            checks = _build_into(con, lake, window, as_of or datetime.now(window.start.tzinfo), params or {})
        finally:
            con.close()
        os.replace(scratch, target)
    finally:
        scratch.unlink(missing_ok=True)
        scratch.with_name(scratch.name + ".wal").unlink(missing_ok=True)
    return BuildResult(target, checks)


def _build_into(
    con: duckdb.DuckDBPyConnection,
    lake: Lake,
    window: Window,
    as_of: datetime,
    params: Mapping[str, str],
) -> list[CheckResult]:
    models = find_models()
    load_catalog(con)
    set_variables(con, window, as_of, params)
    for schema in dict.fromkeys(model.schema for model in models):
        con.execute(f"create schema if not exists {schema}")
    for model in models:
        if model.schema == RAW:
            expose_raw(con, model, lake.files(model.name))
        elif model.schema != CHECKS:
            con.execute(f"create table {model.table} as\n{model.sql}")
    con.execute("create view main.quarantine as select * from raw.quarantine")
    return run_checks(con, models)


def load_catalog(con: duckdb.DuckDBPyConnection) -> None:
    """Loads the catalogue's CSV files as tables of the schema `catalog`."""
    con.execute("create schema if not exists catalog")
    for path in sorted(catalog_dir().glob("*.csv")):
        con.execute(
            f"create table catalog.{path.stem} as "
            "select * from read_csv(?, header = true, nullstr = '', auto_detect = true, all_varchar = false)",
            [str(path)],
        )


def set_variables(
    con: duckdb.DuckDBPyConnection, window: Window, as_of: datetime, params: Mapping[str, str]
) -> None:
    """Sets what SQL reads with getvariable(): the window, the knowledge time, the parameters."""
    defaults = dict(
        con.sql("select name, coalesce(value::varchar, '') from catalog.parameters").fetchall()
    )
    if unknown := sorted(set(params) - set(defaults)):
        raise UsageError(
            f"there is no parameter {unknown[0]!r}; known are {', '.join(sorted(defaults))}"
        )
    for name, text in {**defaults, **params}.items():
        con.execute(f"set variable {name} = ?", [_parse_parameter(name, text, defaults[name])])
    for name, instant in (
        ("window_start", window.start),
        ("window_end", window.end),
        ("as_of", as_of),
    ):
        con.execute(f"set variable {name} = ?", [instant])
        con.execute(f"set variable {name}_ms = epoch_ms(getvariable('{name}'))")


def _parse_parameter(name: str, text: str, default: str) -> Any:
    """Numbers stay numbers; a parameter without a default is a number or null."""
    if default and not default.replace(".", "", 1).isdigit():
        return text
    if not text:
        return None
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        raise UsageError(f"parameter {name} takes a number, not {text!r}") from None


def expose_raw(con: duckdb.DuckDBPyConnection, model: Model, files: list[str]) -> None:
    """Makes raw.<table>: the rows known at `as_of`, in the types of the contract."""
    con.execute(model.sql)
    if not files:
        return
    columns = con.sql(f"describe {model.table}").fetchall()
    present = set(con.read_parquet(files, union_by_name=True).columns)
    casts = ", ".join(
        f'cast({_quote(name) if name in present else "null"} as {dtype}) as {_quote(name)}'
        for name, dtype, *_ in columns
    )
    listing = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    con.execute(f"drop table {model.table}")
    con.execute(
        f"create view {model.table} as select {casts} "
        f"from read_parquet([{listing}], union_by_name = true) "
        f"where ingested_at is null or ingested_at <= to_timestamp({as_of_seconds(con)})"
    )


def as_of_seconds(con: duckdb.DuckDBPyConnection) -> float:
    """The knowledge time as epoch seconds: a view outlives the variable, so it holds the value."""
    return con.sql("select epoch(getvariable('as_of'))").fetchall()[0][0]  # type: ignore[no-any-return]


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
