"""Rows that readers made in Python, checked against the contract before they are published.

Readers are careful, but what they read is foreign: a number may exceed its column, a reader may
meet a case that a CHECK forbids. Such a row is refused with its reason and the others go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb
import polars as pl

from goodput.contract import RawTable, polars_schema, quoted, raw_table
from goodput.sources.rowfiles import Problem

_ROW = "row number"
_VALUE_CHARS = 200


def checked_rows(
    con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[dict[str, Any]]
) -> tuple[pl.DataFrame, list[Problem]]:
    """The rows that keep the contract, as a frame, and what is wrong with the others.

    Args:
        con: any session; it only computes.
    """
    spec = raw_table(table)
    problems: list[Problem] = []
    frame = _typed(spec, rows, problems)
    bad = {problem.row_number for problem in problems}
    for reason, column, numbers in _broken_rules(con, spec, frame):
        problems += [
            _refused(rows, number, column, reason) for number in numbers if number not in bad
        ]
        bad |= set(numbers)
    return frame.filter(~pl.col(_ROW).is_in(sorted(bad))).drop(_ROW), problems


def _typed(spec: RawTable, rows: Sequence[dict[str, Any]], problems: list[Problem]) -> pl.DataFrame:
    schema = polars_schema(spec.name)
    names = [name for name in spec.domain_columns if any(name in row for row in rows)]
    columns = [pl.Series(_ROW, range(len(rows)), pl.Int64)]
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns.append(pl.Series(name, values, schema[name], strict=True))
        except (pl.exceptions.PolarsError, TypeError, OverflowError, ValueError):
            columns.append(_one_by_one(name, values, schema[name], problems))
    return pl.DataFrame(columns)


def _one_by_one(
    name: str, values: list[Any], kind: pl.DataType, problems: list[Problem]
) -> pl.Series:
    fitting: list[Any] = []
    for number, value in enumerate(values):
        try:
            fitting += pl.Series([value], dtype=kind, strict=True).to_list()
        except (pl.exceptions.PolarsError, TypeError, OverflowError, ValueError):
            fitting.append(None)
            problems.append(Problem(number, name, str(value)[:_VALUE_CHARS], f"is no {kind}"))
    return pl.Series(name, fitting, kind)


def _broken_rules(
    con: duckdb.DuckDBPyConnection, spec: RawTable, frame: pl.DataFrame
) -> list[tuple[str, str, list[int]]]:
    """For each broken rule: what it says, the column it is about, the numbers of the rows."""
    rules = [
        (f"{quoted(name)} is not null", name, "is required and missing") for name in spec.required
    ]
    rules += [
        (check.expression, check.columns[0], f"breaks the rule {check.expression}")
        for check in spec.checks
    ]
    if not rules:
        return []
    given = ", ".join(
        f"{quoted(name) if name in frame.columns else 'null'}::{kind} as {quoted(name)}"
        for name, kind in spec.domain_columns.items()
    )
    con.register("reader_rows", frame.to_arrow())
    lists = ", ".join(
        f"list({quoted(_ROW)}) filter (where ({rule}) is false)" for rule, _, _ in rules
    )
    found = con.sql(
        f"select {lists} from (select {quoted(_ROW)}, {given} from reader_rows)"  # noqa: S608 - from the contract
    ).fetchall()[0]
    con.unregister("reader_rows")
    return [
        (reason, column, numbers)
        for (_, column, reason), numbers in zip(rules, found, strict=True)
        if numbers
    ]


def _refused(rows: Sequence[dict[str, Any]], number: int, column: str, reason: str) -> Problem:
    value = rows[number].get(column)
    return Problem(number, column, None if value is None else str(value)[:_VALUE_CHARS], reason)
