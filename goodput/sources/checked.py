"""Rows that readers made in Python, checked against the contract before they are published.

Readers are careful, but what they read is foreign: a number may exceed its column, a reader may
meet a case that a CHECK forbids. Such a row is refused with its reason and the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Protocol

import duckdb
from duckdb.sqltypes import DuckDBPyType

from goodput.contract import RawTable, quoted, raw_table
from goodput.rows import Misfit, load
from goodput.sources.artefact import Problem, shown
from goodput.sources.rule_words import broken_words

CHECKED = "checked rows"
"""The temporary table that holds the good rows of the last check."""

_PROBE, _FRAME = "probed values", "rows as columns"

Row = dict[str, Any]


class ColumnRows(Protocol):
    """Rows that are also there as columns."""

    def columns(self) -> Mapping[str, Any]:
        """NumPy arrays by column, masked where there is no value; instants in UTC ms."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int) -> Row: ...


def check_rows(
    con: duckdb.DuckDBPyConnection,
    table: str,
    rows: Sequence[dict[str, Any]],
    sources: Sequence[str] | None = None,
) -> list[Problem]:
    """Puts the rows that keep the contract into CHECKED; says what is wrong with the others.

    Args:
        con: a session.
        sources: what each row was read from, for its `ingested_from`.
    """
    spec = raw_table(table)
    columns = _columns(spec, rows)
    problems: list[Problem] = []
    more = {} if sources is None else {"ingested_from": sources}
    try:
        load(con, CHECKED, spec, {**columns, **more})
    except Misfit:
        problems += _misfits(con, spec, columns)
        load(con, CHECKED, spec, {**columns, **more})
    return [*problems, *_drop_broken(con, spec, rows, {p.row_number for p in problems})]


def _columns(spec: RawTable, rows: Sequence[Row]) -> dict[str, list[Any]]:
    """The columns of the contract that some of the rows have."""
    names = [name for name in spec.domain_columns if any(name in row for row in rows)]
    try:  # mostly all rows have the same
        return {name: list(map(itemgetter(name), rows)) for name in names}
    except KeyError:
        return {name: [row.get(name) for row in rows] for name in names}


def check_columns(
    con: duckdb.DuckDBPyConnection, table: str, rows: ColumnRows, source: str
) -> list[Problem]:
    """The same of rows that come as columns, in the contract's types."""
    spec, columns = raw_table(table), dict(rows.columns())
    cells = ", ".join(f"{_typed(name, spec.columns[name])} as {quoted(name)}" for name in columns)
    con.register(_FRAME, columns)
    con.execute(
        f"create or replace temp table {quoted(CHECKED)} as"
        f" select {cells}, $1::varchar as ingested_from from {quoted(_FRAME)}",
        [source],
    )
    con.unregister(_FRAME)
    return list(_drop_broken(con, spec, rows, set()))


def _typed(name: str, kind: DuckDBPyType) -> str:
    column = quoted(name)
    if kind.id == "timestamp with time zone":
        return f"make_timestamptz({column} * 1000)"
    return f"{column}::{kind}"


def _drop_broken(
    con: duckdb.DuckDBPyConnection,
    spec: RawTable,
    rows: Sequence[Row] | ColumnRows,
    bad: set[int | None],
) -> Iterator[Problem]:
    """Says which rows break a rule, and takes them and the bad ones out."""
    for reason, column, numbers in _broken_rules(con, spec):
        yield from (
            _refused(rows, number, column, reason) for number in numbers if number not in bad
        )
        bad |= set(numbers)
    if bad:
        con.execute(f"delete from {quoted(CHECKED)} where rowid in (select unnest(?))", [list(bad)])


def _misfits(
    con: duckdb.DuckDBPyConnection, spec: RawTable, columns: dict[str, list[Any]]
) -> Iterator[Problem]:
    """One problem for each value that its column cannot hold; it is missing there from then on."""
    for name, values in columns.items():
        for number in list(_misfitting(con, spec, name, values, 0)):
            value = shown(str(values[number]))
            yield Problem(number, name, value, f"is no {spec.columns[name]}")
            values[number] = None


def _misfitting(
    con: duckdb.DuckDBPyConnection, spec: RawTable, name: str, values: list[Any], first: int
) -> Iterator[int]:
    """The numbers of such values, found by halves: mostly there are few."""
    try:
        load(con, _PROBE, spec, {name: values})
    except Misfit:
        if len(values) == 1:
            yield first
            return
        half = len(values) // 2
        yield from _misfitting(con, spec, name, values[:half], first)
        yield from _misfitting(con, spec, name, values[half:], first + half)


def _broken_rules(
    con: duckdb.DuckDBPyConnection, spec: RawTable
) -> list[tuple[str, str, list[int]]]:
    """For each broken rule: what it says, the column it is about, the numbers of the rows."""
    rules = [
        (f"{quoted(name)} is not null", name, "is required and missing") for name in spec.required
    ]
    rules += [
        (check.expression, check.columns[0], broken_words(spec, check)) for check in spec.checks
    ]
    if not rules:
        return []
    loaded = con.table(quoted(CHECKED)).columns
    given = ", ".join(
        quoted(name) if name in loaded else f"null::{kind} as {quoted(name)}"
        for name, kind in spec.domain_columns.items()
    )
    lists = ", ".join(f"list(number) filter (where ({rule}) is false)" for rule, _, _ in rules)
    found = con.execute(
        f"select {lists} from (select rowid as number, {given} from {quoted(CHECKED)})"
    ).fetchall()[0]
    return [
        (reason, column, numbers)
        for (_, column, reason), numbers in zip(rules, found, strict=True)
        if numbers
    ]


def _refused(rows: Sequence[Row] | ColumnRows, number: int, column: str, reason: str) -> Problem:
    value = rows[number].get(column)
    return Problem(number, column, None if value is None else shown(str(value)), reason)
