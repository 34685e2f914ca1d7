"""Text tables in, text tables out: how model tests say what is given and what they expect.

    model.given("staged.phases", '''
        job  attempt  kind     started_at  ended_at
        A    1        restore  10:00       10:05
    ''')
    model.expect("metrics.queue", '''
        metric       scope  value
        queue_hours  fleet  0.5
    ''', where="scope = 'fleet'")

Cells are two spaces apart. `-` is null, `''` the empty string, `#` begins a comment line. A cell
takes the type of its column: clock times (`10:00`, `10:00:05`, `168:00`) are instants counted from
DAY, in timestamp columns and in columns of epoch milliseconds alike; `800 gs` is 800 GPU-seconds in
ledger units; `6/13` is a fraction. Columns that are not given are null. Only the columns that
`expect` names are compared, rows in any order, doubles to twelve digits.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
from booked import BOOKED, put

from goodput.lake import Lake
from goodput.warehouse.build import build, set_variables
from goodput.warehouse.catalog_tables import make_signature_macros
from goodput.warehouse.connection import connect
from goodput.warehouse.emptiness import EmptyTables
from goodput.warehouse.gathering import gather
from goodput.warehouse.models import Model, find_models
from goodput.window import Window

DAY = datetime(2026, 3, 2, tzinfo=UTC)
"""The instant that clock times count from."""

GPU_SECOND = 5040 * 1000

_CLOCK = re.compile(r"(\d{1,3}):(\d{2})(?::(\d{2}))?")
_GPU_SECONDS = re.compile(r"(-?[\d_]+) gs")
_WORDS = {"-": None, "''": ""}
_GAP = re.compile(r"\s{2,}")


def clock(text: str) -> datetime:
    """The instant of a clock time."""
    match = _CLOCK.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a clock time such as 10:00 or 10:00:05")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return DAY + timedelta(hours=hours, minutes=minutes, seconds=seconds)


def parse_table(text: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a text table."""
    lines = [
        _GAP.split(line.strip())
        for line in textwrap.dedent(text).splitlines()
        if line.strip() and not line.strip().startswith("#")
    ]
    header, rows = lines[0], lines[1:]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"{len(row)} cells under {len(header)} columns: {row}")
    return header, rows


def parse_cell(cell: str, dtype: str) -> Any:
    """A cell as the text or value that DuckDB can cast to the column's type."""
    if cell in _WORDS:
        return _WORDS[cell]
    if dtype == "VARCHAR":
        return cell
    if _CLOCK.fullmatch(cell):
        instant = clock(cell)
        return instant if dtype.startswith("TIMESTAMP") else int(instant.timestamp()) * 1000
    if match := _GPU_SECONDS.fullmatch(cell):
        return int(match[1]) * GPU_SECOND
    if dtype in ("DOUBLE", "FLOAT"):
        return float(Fraction(cell.replace("_", "")))
    return cell.replace("_", "") if dtype.endswith("INT") or dtype == "INTEGER" else cell


def replacement(model: Model) -> str:
    """The statement that makes a table or view anew."""
    return model.definition.replace("create ", "create or replace ", 1)


def set_times(
    con: duckdb.DuckDBPyConnection,
    window: Window,
    as_of: datetime,
    params: Mapping[str, str] | None = None,
) -> None:
    """Sets what a build sets before its models: the variables, and the record that views read."""
    set_variables(con, window, as_of, params or {})
    con.execute("update meta.build set as_of = getvariable('as_of')")


def make_empty_warehouse(folder: Path) -> Path:
    """Every table there is, with its real columns and no rows: the models built from nothing."""
    lake = Lake.open(str(folder), create=True)
    built = build(lake, Window(DAY, DAY + timedelta(days=7)), DAY + timedelta(days=7)).database
    with open_warehouse(built) as con:
        # What a build leaves out where there is nothing, since tests will put rows in.
        models = find_models()
        gather(con, models, EmptyTables(models, {}))
        make_signature_macros(con)
    return built


@dataclass
class ModelBench:
    """One empty warehouse in which a test gives some tables and expects others.

    What `expect` asks for is computed anew from the tables it reads; among these, the ones that
    `rebuilds` names, or their schema, are computed too unless they were given. All others are empty
    until given.
    """

    con: duckdb.DuckDBPyConnection
    rebuilds: Collection[str] = ()
    models: list[Model] = field(default_factory=find_models)
    given_tables: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.window("00:00", "168:00")

    def window(self, start: str, end: str, as_of: str | None = None, **params: str) -> None:
        """Sets the window, the knowledge time (default: the window's end) and parameters."""
        set_times(self.con, Window(clock(start), clock(end)), clock(as_of or end), params)

    def given(self, table: str, text: str) -> None:
        """Puts the rows of a text table into a table."""
        types = self._types(table)
        if self._is_view(table) and table not in BOOKED:
            self._store(table, types)
        header, rows = parse_table(text)
        if unknown := set(header) - set(types):
            raise ValueError(f"{table} has no column {min(unknown)}")
        names = ", ".join(f'"{name}"' for name in header)
        marks = ", ".join(f"cast(? as {types[name]})" for name in header)
        self.con.execute(
            f"create or replace temp table rows as select {names} from {table} limit 0"
        )
        for row in rows:
            values = [parse_cell(cell, types[name]) for cell, name in zip(row, header, strict=True)]
            self.con.execute(f"insert into rows values ({marks})", values)
        put(self.con, table, "rows")
        self.given_tables.add(table)

    def _is_view(self, table: str) -> bool:
        return any(model.is_view for model in self.models if model.table == table)

    def _store(self, view: str, types: dict[str, str]) -> None:
        """Puts an empty table in the place of a view."""
        columns = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
        self.con.execute(f"drop view if exists {view}")
        self.con.execute(f"create table {view} ({columns})")

    def expect(self, table: str, text: str, where: str = "true") -> None:
        """Rebuilds a table from what was given and compares the columns that the text names."""
        self.rebuild(table)
        types = self._types(table)
        header, rows = parse_table(text)
        names = ", ".join(f'"{name}"' for name in header)
        expected = self._canonical(
            tuple(self._cast(cell, types[name]) for cell, name in zip(row, header, strict=True))
            for row in rows
        )
        actual = self._canonical(
            self.con.execute(f"select {names} from {table} where {where}").fetchall()
        )
        assert expected == actual, _difference(table, header, expected, actual)

    def rebuild(self, table: str) -> None:
        """Runs the model of a table, after those of `rebuilds` that it depends on."""
        needed = self._needed(table)
        for model in self.models:
            if model.table in needed:
                self.con.execute(replacement(model))

    def _needed(self, table: str) -> set[str]:
        by_table = {model.table: model for model in self.models}
        needed: set[str] = set()
        asked = [table]
        while asked:
            name = asked.pop()
            if name in by_table and name not in needed | self.given_tables:
                needed.add(name)
                asked += [
                    t
                    for t in self._reads(by_table[name])
                    if t in self.rebuilds or t.split(".")[0] in self.rebuilds
                ]
        return needed

    def _reads(self, model: Model) -> set[str]:
        return set(re.findall(r"\b[a-z]+\.[a-z_0-9]+\b", model.sql)) - {model.table}

    def _types(self, table: str) -> dict[str, str]:
        return {name: dtype for name, dtype, *_ in self.con.sql(f"describe {table}").fetchall()}

    def _cast(self, cell: str, dtype: str) -> Any:
        value = parse_cell(cell, dtype)
        return self.con.execute(f"select cast(? as {dtype})", [value]).fetchall()[0][0]

    @staticmethod
    def _canonical(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        rounded = [
            tuple(float(f"{v:.12g}") if isinstance(v, float) else v for v in row) for row in rows
        ]
        return sorted(rounded, key=repr)


def _difference(table: str, header: list[str], expected: list[Any], actual: list[Any]) -> str:
    """What a failed comparison shows: pytest does not look into asserts of a helper module."""
    missing = [row for row in expected if row not in actual]
    surplus = [row for row in actual if row not in expected]
    lines = [f"{table} differs, columns {', '.join(header)}"]
    lines += [f"  missing:    {row}" for row in missing]
    lines += [f"  unexpected: {row}" for row in surplus]
    if not missing and not surplus:
        lines.append(f"  the same rows, but {len(actual)} instead of {len(expected)}")
    return "\n".join(lines)


@contextmanager
def bench(con: duckdb.DuckDBPyConnection, rebuilds: Collection[str]) -> Iterator[ModelBench]:
    """A bench whose tables are as before when it is left."""
    con.execute("begin")
    try:
        yield ModelBench(con, rebuilds)
    finally:
        con.execute("rollback")


def open_warehouse(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection to an empty warehouse that tests may write to."""
    return connect(path)
