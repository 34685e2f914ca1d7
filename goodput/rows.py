"""Rows on their way into the lake: the contract's columns, their identity, Parquet files.

DuckDB does all of it, from Python values to files: nothing else is loaded by what collects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from operator import itemgetter
from pathlib import Path
from types import NoneType
from typing import Any

import duckdb
import msgspec
from duckdb.sqltypes import DuckDBPyType

from goodput.contract import RawTable, children, quoted, raw_table
from goodput.errors import GoodputError

DEFAULT_CLUSTER = "default"

Columns = Mapping[str, Sequence[Any]]
"""Python values by column; all columns have the same length."""

_PARQUET = "format parquet, compression zstd, parquet_version v2, row_group_size 122880"
# Values wait in a costly form while they are handed over.
_HANDED_OVER_ROWS = 2_000
# The view of the rows that arrive; the table of who they are and, but for those of files, where.
_ARRIVING, _ARRIVED = "arriving", "arrived"
_HELD, _ORIGIN = "held", "origin"
_PLACE, _DAY = '"its place"', '"its day"'
_FRAME = "rows of a frame"
_READ = "read_parquet(?, union_by_name = true, hive_partitioning = false)"
_PYTHON_TYPES: dict[str, set[type]] = {
    "varchar": {str},
    "boolean": {bool},
    "smallint": {int},
    "integer": {int},
    "bigint": {int},
    "double": {float, int},
    "date": {date},
    "timestamp with time zone": {datetime},
    "list": {list, tuple},
    "struct": {dict},
}
# These travel as JSON, a column in one text: one by one, values of Python cost three times as much.
_IN_JSON = {"varchar", "boolean", "smallint", "integer", "bigint", "timestamp with time zone"}


# ------------------------------------------------------------------- Python values


class Misfit(Exception):
    """A value is none that its column can hold."""


def load(con: duckdb.DuckDBPyConnection, name: str, spec: RawTable, columns: Columns) -> None:
    """Makes a temporary table of Python values, in the contract's types and the order given.

    Raises:
        Misfit: a value of another type than its column, or too large for it.
    """
    kinds = [spec.columns[column] for column in columns]
    for kind, values in zip(kinds, columns.values(), strict=True):
        # DuckDB would read numbers out of texts and round what is no whole number.
        if set(map(type, values)) - {NoneType} - _PYTHON_TYPES[kind.id]:
            raise Misfit(f"a value is no {kind}")
    declared = ", ".join(
        f"{quoted(column)} {kind}" for column, kind in zip(columns, kinds, strict=True)
    )
    con.execute(f"create or replace temp table {quoted(name)} ({declared})")
    height = max(map(len, columns.values()), default=0)
    try:
        for start in range(0, height, _HANDED_OVER_ROWS):
            rows = slice(start, start + _HANDED_OVER_ROWS)
            handed = [
                _handed_over(number, kind, values[rows])
                for number, (kind, values) in enumerate(
                    zip(kinds, columns.values(), strict=True), start=1
                )
            ]
            cells = ", ".join(cell for cell, _ in handed)
            con.execute(
                f"insert into {quoted(name)} select {cells}", [value for _, value in handed]
            )
    except (duckdb.Error, UnicodeEncodeError) as error:
        raise Misfit(str(error)) from None


def _handed_over(number: int, kind: DuckDBPyType, values: Sequence[Any]) -> tuple[str, Any]:
    """The cell of a select for some values of a column, and the parameter that it takes."""
    if kind.id not in _IN_JSON:
        return f"unnest(${number}::{kind}[])", list(values)
    # The first column also says how many rows there are.
    if number > 1 and list(values).count(values[0]) == len(values):
        return f"${number}::{kind}", values[0]
    return f"unnest(${number}::json::{kind}[])", msgspec.json.encode(values).decode()


# ------------------------------------------------------------------- the contract


def conformed_sql(spec: RawTable, given: Iterable[str]) -> str:
    """The select list that brings rows into the contract's columns, types and order.

    What is missing is NULL; instants are cut to whole milliseconds.

    Raises:
        GoodputError: a column that the contract does not have.
    """
    names = set(given)
    if unknown := sorted(names - set(spec.columns)):
        raise GoodputError(
            f"raw.{spec.name} has no column {unknown[0]!r}; sql/00_raw declares its columns"
        )
    return ", ".join(
        f"{_conformed(quoted(name) if name in names else 'null', kind)} as {quoted(name)}"
        for name, kind in spec.columns.items()
    )


def _conformed(expression: str, kind: DuckDBPyType) -> str:
    typed = f"{expression}::{kind}"
    if kind.id == "timestamp with time zone":
        return f"make_timestamptz(epoch_us({typed}) // 1000 * 1000)"
    if kind.id == "list" and "TIME" in str(kind):
        inner = _conformed("item", children(kind)[0][1])
        return f"list_transform({typed}, lambda item: {inner})"
    if kind.id == "struct" and "TIME" in str(kind):
        fields = (
            f"{quoted(name)} := {_conformed(f'{expression}.{quoted(name)}', child)}"
            for name, child in children(kind)
        )
        return f"case when {expression} is not null then struct_pack({', '.join(fields)}) end"
    return typed


def arrive(
    con: duckdb.DuckDBPyConnection,
    table: str,
    source: Any,
    *,
    ingested_from: str,
    ingested_at: datetime | None,
    run_id: str,
) -> int:
    """Takes rows of a raw table in, each content once, with identity and provenance.

    They are then in the view `arriving`, whose `rowid` is the order given. The rows themselves stay
    where they are: twice in memory they would be most of what a collector holds. `row_id` is the
    first 96 bits of a SHA-256 over a canonical text of the non-null domain columns in the order of
    their names, and of an ingested_at that the row brought: the same for the same content whatever
    the column order, and unmoved by columns that the contract gains later.

    Args:
        source: the name of a table of the session, which stays as it is until `let_go`, or a frame
            that DuckDB can read.
        ingested_from: source of rows that do not say.
        ingested_at: knowledge time of rows that do not say.
        run_id: of all of them.

    Returns:
        How many rows came, copies included.

    Raises:
        GoodputError: a table or column that the contract does not have, or a wrong type.
    """
    spec = raw_table(table)
    identity = {**spec.domain_columns, "ingested_at": spec.columns["ingested_at"]}
    parts = ", ".join(
        f"'{name}=' || {_canonical(quoted(name), identity[name])}" for name in sorted(identity)
    )
    try:
        given = _conformed_source(con, spec, source)
        con.execute(
            f"create or replace temp table {_ARRIVED} as select {_PLACE},"
            f" left(sha256(concat_ws(chr(31), {parts})), 24) as row_id, {_day(spec)} as {_DAY}"
            f" from ({given})"
        )
    except duckdb.Error as error:
        raise GoodputError(f"rows for raw.{table} do not fit its types: {error}") from None
    con.execute(
        f"create or replace temp table {_ORIGIN} as"
        " select $at::timestamptz as at, $from as source, $run as run",
        {"at": _whole_ms(ingested_at), "from": ingested_from, "run": run_id},
    )
    con.execute(
        f"create or replace temp view {_ARRIVING} as select given.* exclude ({_PLACE}) replace ("
        "arrived.row_id as row_id, coalesce(given.ingested_at, origin.at) as ingested_at,"
        " coalesce(given.ingested_from, origin.source) as ingested_from, origin.run as run_id),"
        f" arrived.{_DAY}, {_PLACE} as rowid"
        f" from ({given}) as given join {_ARRIVED} as arrived using ({_PLACE})"
        f" cross join {_ORIGIN} as origin"
    )
    return _once(con)


def _conformed_source(con: duckdb.DuckDBPyConnection, spec: RawTable, source: Any) -> str:
    """A query for rows in the contract's form and with their places; a frame is copied first."""
    name = source if isinstance(source, str) else _FRAME
    if name is _FRAME:
        con.register(_FRAME, source)
    given = (
        f"select * replace (coalesce(cluster, '{DEFAULT_CLUSTER}') as cluster)"
        f" from (select {conformed_sql(spec, con.table(quoted(name)).columns)}"
    )
    if name is not _FRAME:
        return f"{given}, rowid as {_PLACE} from {quoted(name)})"
    con.execute(f"create or replace temp table {_HELD} as {given} from {quoted(_FRAME)})")
    con.unregister(_FRAME)
    return f"select *, rowid as {_PLACE} from {_HELD}"


def arrive_again(con: duckdb.DuckDBPyConnection, table: str, files: Sequence[str]) -> int:
    """Takes the rows of some of the lake's files in; of copies, the one known first counts.

    NULL is known from the start. They are then in the view `arriving`, in the order given.

    Returns:
        How many rows the files have, copies included.
    """
    spec = raw_table(table)
    given = con.execute(f"from {_READ} limit 0", [list(files)]).description
    select = conformed_sql(spec, [column[0] for column in given])
    con.execute(
        f"create or replace temp table {_ARRIVED} as select {select}, {_day(spec)} as {_DAY} from"
        " read_parquet(?, union_by_name = true, hive_partitioning = false, filename = 'read from',"
        " file_row_number = true)"
        ' order by ingested_at nulls first, "read from", file_row_number',
        [list(files)],
    )
    con.execute(f"create or replace temp view {_ARRIVING} as select *, rowid from {_ARRIVED}")
    return _once(con)


def _once(con: duckdb.DuckDBPyConnection) -> int:
    """Keeps the first of the rows of each content, and says how many there were."""
    [(count, contents)] = con.execute(
        f"select count(*), count(distinct row_id) from {_ARRIVED}"
    ).fetchall()
    if contents < count:
        con.execute(
            f"delete from {_ARRIVED} where rowid not in"
            f" (select min(rowid) from {_ARRIVED} group by row_id)"
        )
    return int(count)


def _whole_ms(at: datetime | None) -> datetime | None:
    return at and at.replace(microsecond=at.microsecond // 1000 * 1000)


def _canonical(expression: str, kind: DuckDBPyType, depth: int = 0) -> str:
    """SQL for a text of a value that no two values share; NULL stays NULL at the top.

    Texts carry their length, so no content can imitate a separator.
    """
    if kind.id == "varchar":
        return f"(length({expression}) || ':' || {expression})"
    if kind.id == "timestamp with time zone":
        return f"(epoch_us({expression}) // 1000)::varchar"
    if kind.id == "list":
        item = f"item{depth}"
        inner = _canonical(item, children(kind)[0][1], depth + 1)
        items = f"list_transform({expression}, lambda {item}: coalesce({inner}, '~'))"
        return f"('[' || array_to_string({items}, ',') || ']')"
    if kind.id == "struct":
        fields = (
            (name, _canonical(f"{expression}.{quoted(name)}", child, depth))
            for name, child in sorted(children(kind), key=itemgetter(0))
        )
        parts = " || ',' || ".join(f"'{name}=' || coalesce({text}, '~')" for name, text in fields)
        return f"('{{' || {parts} || '}}')"
    return f"{expression}::varchar"


# ------------------------------------------------------------------- what arrived


def arriving_days(con: duckdb.DuckDBPyConnection, none: str) -> list[str]:
    """The partitions of what arrived: UTC days of the table's day column, `none` without one."""
    days = con.execute(
        f"select distinct coalesce({_DAY}, $none) from {_ARRIVED} order by 1", {"none": none}
    )
    return [day for (day,) in days.fetchall()]


def forget_known(con: duckdb.DuckDBPyConnection, files: Sequence[str]) -> None:
    """Leaves out what arrived and is in some of the lake's files already."""
    if files:
        con.execute(
            f"delete from {_ARRIVED} where row_id in (select row_id from {_READ})", [list(files)]
        )


def write_day(con: duckdb.DuckDBPyConnection, table: str, day: str, none: str, path: Path) -> int:
    """Writes what arrived of one partition in the order that the table's files keep.

    Parquet with zstd: deltas for whole numbers and instants, dictionaries for texts.

    Returns:
        How many rows that are.

    Raises:
        GoodputError: the file cannot be written.
    """
    spec = raw_table(table)
    literal = str(path).replace("'", "''")
    columns = ", ".join(map(quoted, spec.columns))
    order = ", ".join(f"{quoted(name)} nulls first" for name in spec.sorted_by)
    copy = (
        f"copy (select {columns} from {_ARRIVING} where coalesce({_DAY}, $none) = $day"
        f" order by {order}{', ' if order else ''}rowid) to '{literal}'"
        f" ({_PARQUET})"
    )
    try:
        written = con.execute(copy, {"day": day, "none": none})
    except duckdb.IOException as error:
        raise GoodputError(f"{error}; check the space left, also for temporary files") from None
    [(count,)] = written.fetchall()
    return int(count)


def let_go(con: duckdb.DuckDBPyConnection) -> None:
    """Frees the memory of what arrived."""
    con.execute(f"drop view {_ARRIVING}")
    for name in (_ARRIVED, _ORIGIN, _HELD):
        con.execute(f"drop table if exists {name}")


def _day(spec: RawTable) -> str:
    """SQL for the UTC day of a row; NULL where it has none."""
    if spec.day is None:
        return "null::varchar"
    return f"strftime({quoted(spec.day)}::timestamp, '%Y-%m-%d')"
