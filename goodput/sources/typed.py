"""`goodput import`: the typed tables from files like nodes.csv, steps.ndjson.gz or pods.parquet.

Rows are judged against the contract a block at a time: every cell becomes a text, every text is
cast to the column's type, then the DDL's NOT NULLs and CHECKs are asked. Whole columns at
once, so good rows cost little; only bad rows are looked at again, to say what is wrong with them.
They go to raw.quarantine, and the rest is taken.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import polars as pl
from duckdb.sqltypes import DuckDBPyType

from goodput import contract
from goodput._files import path_text
from goodput.contract import RawTable, quoted
from goodput.errors import NoData
from goodput.lake import Lake
from goodput.rows import DEFAULT_CLUSTER
from goodput.sources.artefact import READ_CHARS, Problem, shown
from goodput.sources.casts import MACROS, cast_sql, problem_sql
from goodput.sources.earlier_problems import EarlierProblems
from goodput.sources.publisher import Publisher
from goodput.sources.rowfiles import LINE, ROW_NUMBER, Block, read_rows
from goodput.sources.rule_words import broken_words
from goodput.texts import clean
from goodput.warehouse.connection import connect

_KINDS = {".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".parquet": "parquet"}


@dataclass
class ImportResult:
    """What an import did.

    Attributes:
        rows_taken: good rows by table, whether the lake had them already or not.
        rows_added: rows by table that the lake did not have.
        quarantined: problems found, one per bad cell or unreadable piece.
        messages: what a person should know, in the order of the files.
    """

    rows_taken: dict[str, int] = field(default_factory=dict)
    rows_added: dict[str, int] = field(default_factory=dict)
    quarantined: int = 0
    messages: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Judged:
    """A block after judgement: the good rows in contract columns, and what was wrong."""

    rows: pl.DataFrame
    problems: list[Problem]
    unknown_columns: tuple[str, ...]


def import_files(lake: Lake, path: str | Path, *, cluster: str = DEFAULT_CLUSTER) -> ImportResult:
    """Takes every typed table in a folder (or one file) into the lake; running twice adds nothing.

    Args:
        cluster: of rows that name none.

    Raises:
        NoData: nothing there has the name of a typed table, or nothing is there.
    """
    path = Path(path)
    if not path.exists():
        raise NoData(f"{path} is not there")
    result = ImportResult()
    files = _typed_files(path, result.messages)
    if not files:
        raise NoData(
            f"{path} has no typed table; name files like nodes.ndjson, steps.csv or pods.parquet"
        )
    # The same place for a folder and for one file in it, wherever the import is started.
    place = path_text((path if path.is_dir() else path.parent).resolve())
    publisher = Publisher(lake, place, lambda: None, cluster=cluster)
    with closing(publisher):
        earlier = EarlierProblems(lake, cluster, place, [file.name for file, _, _ in files])
        publisher.tell = earlier.meet
        importer = _Importer(publisher, cluster, result, earlier)
        for file, table, kind in files:
            importer.take(file, table, kind)
        publisher.settle(earlier.rows(datetime.now(UTC)))
        publisher.flush()
    result.rows_added = publisher.rows_added
    result.quarantined = publisher.quarantined
    return result


def _typed_files(path: Path, messages: list[str]) -> list[tuple[Path, str, str]]:
    """The files to take with their table and kind; names the others in a message."""
    found: list[tuple[Path, str, str]] = []
    others: list[str] = []
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        table, kind = table_and_kind(file.name)
        if table and kind and file.is_file():
            found.append((file, table, kind))
        else:
            others.append(clean(path_text(file.name)))
    if others:
        messages.append(f"not taken, no typed table: {', '.join(others)}")
    return found


def table_and_kind(name: str) -> tuple[str, str] | tuple[None, None]:
    """The typed table that a file's name says it holds, and its kind; none if it says neither."""
    table, _, ending = name.removesuffix(".gz").partition(".")
    kind = _KINDS.get(f".{ending}")
    return (table, kind) if kind and table in contract.TYPED_TABLES else (None, None)


_FILLERS = frozenset(("", "count", "id", "n", "name", "num", "number", "of", "time", "total"))
"""What the name of a column may have besides what it is about."""


class _Importer:
    """One run: judges files in turn."""

    def __init__(
        self, publisher: Publisher, cluster: str, result: ImportResult, earlier: EarlierProblems
    ) -> None:
        self._publisher = publisher
        self._earlier = earlier
        self._cluster = cluster
        self._result = result
        self._con = judging_session()

    def take(self, file: Path, table: str, kind: str) -> None:
        """Takes one file."""
        spec = contract.raw_table(table)
        taken, problems, unknown = 0, 0, set[str]()
        first: Problem | None = None
        self._earlier.read(file.name)
        for block in read_rows(file, kind):
            judged = judge(self._con, spec, block, self._cluster)
            self._publisher.add(table, judged.rows)
            self._publisher.refuse(file.name, table, judged.problems)
            taken += judged.rows.height
            problems += len(judged.problems)
            unknown |= set(judged.unknown_columns)
            first = first or next(iter(judged.problems), None)
            if any(problem.ends_file for problem in judged.problems):
                break
        self._result.rows_taken[table] = self._result.rows_taken.get(table, 0) + taken
        if unknown:
            names = ", ".join(clean(name) + _meant(name, spec) for name in sorted(unknown))
            self._say(f"{file.name}: left out, {table} has no such columns: {names}")
        if first:
            self._say(f"{file.name}: {problems} quarantined, the first: {describe(first)}")

    def _say(self, message: str) -> None:
        self._result.messages.append(message)


def _meant(name: str, spec: RawTable) -> str:
    """The column of the table that a name is nearly, as what follows the name."""
    columns = list(_given(spec))
    close = difflib.get_close_matches(name.lower(), columns, n=1, cutoff=0.8)
    # As gpu_count and num_gpus for gpus, and node_id for node_uid.
    words = [word for word in re.split(r"[^a-z]+", name.lower()) if word not in _FILLERS]
    stem = "_".join(words).removesuffix("s")
    close += [form for form in (stem, f"{stem}s", f"{stem}_uid") if form in columns]
    return f" (did you mean {close[0]}?)" if close else ""


def describe(problem: Problem) -> str:
    """One problem as a sentence without its file."""
    where = "" if problem.row_number is None else f"row {problem.row_number}, "
    column = "" if problem.column is None else f"{problem.column} "
    value = "" if problem.value is None else f"{problem.value[:60]!r} "
    return f"{where}{column}{value}{problem.reason}"


# ------------------------------------------------------------------- judgement


def judging_session() -> duckdb.DuckDBPyConnection:
    """A DuckDB session with the casts that `judge` uses."""
    con = connect()
    con.execute(MACROS)
    return con


def judge(con: duckdb.DuckDBPyConnection, spec: RawTable, block: Block, cluster: str) -> Judged:
    """Divides a block into rows that keep the contract and problems with the others."""
    names = block.rows.column_names
    own = [name for name in names if name not in (ROW_NUMBER, LINE)]
    unknown = [name for name in own if name not in spec.columns]
    problems, rows = list(block.problems), block.rows
    if own and len(unknown) == len(own):
        problems, rows, unknown = [_no_column(spec, own)], rows.slice(0, 0), []
    # What the table does not have may be of types that DuckDB does not have either.
    con.register("block", rows.select([name for name in names if name not in unknown]))
    if LINE in names:
        unknown = _texts_of_lines(con, spec, problems)
    else:
        _texts_of_cells(con, spec)
    con.unregister("block")
    con.execute(_judged_sql(spec), {"cluster": cluster})
    names = ", ".join(quoted(name) for name in _given(spec))
    rows = con.sql(f"select {names} from judged where not is_bad").pl()
    if rows.height < con.sql("select count(*) from judged").fetchall()[0][0]:
        problems += _bad_cells(con, spec)
    return Judged(rows, problems, tuple(unknown))


def _no_column(spec: RawTable, names: list[str]) -> Problem:
    reason = (
        f"the header names no column of {spec.name}; are cells separated by commas, quotes closed?"
    )
    return Problem(1, None, shown(",".join(names)), reason, ends_file=True)


def _given(spec: RawTable) -> Mapping[str, DuckDBPyType]:
    """The columns that a file may bring: what rows say, and since when it is known."""
    return {**spec.domain_columns, "ingested_at": spec.columns["ingested_at"]}


def _text(name: str) -> str:
    """The column that holds the text of a contract column."""
    return quoted(f"text of {name}")


def _texts_of_lines(
    con: duckdb.DuckDBPyConnection, spec: RawTable, problems: list[Problem]
) -> list[str]:
    """Makes `texts` from JSON lines; gives the keys that the table does not have."""
    number, line = quoted(ROW_NUMBER), quoted(LINE)
    con.execute(
        f"create or replace temp table lines as select {number}, {line},"
        f" case when json_valid({line}) then json_type({line}) = 'OBJECT' end as is_object"
        f" from block where trim({line}, ' \t\r\n') <> ''"
    )
    for row, value, is_object in con.execute(
        f"select {number}, left({line}, {READ_CHARS}), is_object from lines"
        " where is_object is distinct from true"
    ).fetchall():
        reason = "is not valid JSON; is the line cut off?"
        problems.append(
            Problem(
                row,
                None,
                shown(value.strip()),
                reason if is_object is None else "is no JSON object",
            )
        )
    structure = json.dumps(dict.fromkeys(_given(spec), "VARCHAR"))
    fields = ", ".join(f"fields.{quoted(name)} as {_text(name)}" for name in _given(spec))
    con.execute(
        f"create or replace temp table texts as select {number}, {fields} from ("
        f"select {number}, json_transform({line}, '{structure}') as fields"
        " from lines where is_object)"
    )
    keys = con.execute("select distinct unnest(json_keys(" + line + ")) from lines where is_object")
    return [key for (key,) in keys.fetchall() if key not in spec.columns]


def _texts_of_cells(con: duckdb.DuckDBPyConnection, spec: RawTable) -> None:
    """Makes `texts` from named columns."""
    relation = con.table("block")
    kinds = dict(zip(relation.columns, relation.types, strict=True))
    cells = {
        name: _cell_text(quoted(name), kinds[name]) if name in kinds else "null::varchar"
        for name in _given(spec)
    }
    fields = [f"{cell} as {_text(name)}" for name, cell in cells.items()]
    con.execute(
        f"create or replace temp table texts as"
        f" select {quoted(ROW_NUMBER)}, {', '.join(fields)} from block"
    )


def _cell_text(cell: str, kind: DuckDBPyType) -> str:
    nested = kind.id in ("list", "struct", "map", "array", "union")
    return f"{f'to_json({cell})' if nested else cell}::varchar"


def _judged_sql(spec: RawTable) -> str:
    """SQL that casts `texts` into `judged`: the values, the texts, and whether the row is bad."""
    values = [f"{_value_sql(name, kind)} as {quoted(name)}" for name, kind in _given(spec).items()]
    faults = [f"({_misfit(name)})" for name in _given(spec)]
    faults += [f"({quoted(name)} is null)" for name in spec.required]
    faults += [f"(({check.expression}) is false)" for check in spec.checks]
    return (
        f"create or replace temp table judged as select *, {' or '.join(faults)} as is_bad"
        f" from (select {', '.join(values)}, * from texts)"
    )


def _value_sql(name: str, kind: DuckDBPyType) -> str:
    """SQL for a cell's value; an empty text is no value, in every kind of file."""
    value = cast_sql(f"nullif({_text(name)}, '')", kind)
    return f"coalesce({value}, $cluster)" if name == "cluster" else value


def _misfit(name: str) -> str:
    return f"nullif({_text(name)}, '') is not null and {quoted(name)} is null"


def _bad_cells(con: duckdb.DuckDBPyConnection, spec: RawTable) -> Iterator[Problem]:
    """One problem per bad cell of the bad rows, in the order of the rows."""
    number = quoted(ROW_NUMBER)
    selects = []
    for place, (name, kind) in enumerate(_given(spec).items()):
        text = _text(name)
        if kind.id != "varchar":
            selects.append(
                f"select {number}, {place}, '{name}', left({text}, {READ_CHARS}),"
                f" {problem_sql(text, kind)} from bad where {_misfit(name)}"
            )
        if name in spec.required:
            selects.append(
                f"select {number}, {place}, '{name}', null, 'is required and missing' from bad"
                f" where {quoted(name)} is null and not ({_misfit(name)})"
            )
    for check in spec.checks:
        told = " || ', ' || ".join(
            f"'{name}=' || coalesce({_text(name)}, '')" for name in check.columns
        )
        reason = broken_words(spec, check).replace("'", "''")
        # A cell that could not be read is told already; the rule then breaks for want of it.
        unread = " or ".join(f"({_misfit(name)})" for name in check.columns)
        selects.append(
            f"select {number}, 1000, '{check.columns[0]}', left({told}, {READ_CHARS}),"
            f" '{reason}' from bad where ({check.expression}) is false and not ({unread})"
        )
    con.execute("create or replace temp table bad as from judged where is_bad")
    cells = con.execute(" union all ".join(selects) + " order by 1, 2, 3")
    for row, _, column, value, reason in cells.fetchall():
        yield Problem(row, column, None if value is None else shown(value), reason)
