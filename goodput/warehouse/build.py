"""Builds every model for one window at one knowledge time, then runs the checks.

The result is one DuckDB file that is renamed into place when it is whole: a reader sees the last
complete build or the next one, never half of either.
"""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from uuid import uuid4

import duckdb

from goodput import __version__
from goodput._resources import resource_dir
from goodput.contract import raw_table
from goodput.errors import GoodputError, NoData, UsageError
from goodput.lake import Lake, Snapshot
from goodput.texts import counted, did_you_mean
from goodput.warehouse.catalog_tables import load_catalog, make_signature_macros
from goodput.warehouse.checks import CHECKS, CheckResult, run_checks
from goodput.warehouse.connection import connect
from goodput.warehouse.emptiness import EmptyTables
from goodput.warehouse.estimates import fill_intervals
from goodput.warehouse.gathering import gather
from goodput.warehouse.halves import LEDGER, book_halves
from goodput.warehouse.models import Model, find_models
from goodput.warehouse.rawviews import open_quarantine_sql, raw_view_sql
from goodput.warehouse.shards import make_sharded
from goodput.window import Window

RAW = "raw"
OBSERVED = "observed"
METRICS = "metrics"
FOREVER_MS = 253_402_300_799_999
"""Where an open end lies: the last millisecond of the year 9999."""

MEMORY = "1500MB"
"""What a build holds in memory before it spills to disk, unless GOODPUT_MEMORY says otherwise."""

_STEP_TABLES = ("steps", "log_steps")
_ROWS_OF_A_GROUP = 122_880
"""DuckDB hands out work by groups of so many rows: with fewer, more threads do not pay."""
_LARGEST_PARAMETER = 1_000_000_000
_SCRATCH = ".warehouse.duckdb."
_SCRATCH_SECONDS = 24 * 3600


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
    *,
    target: Path | None = None,
    keep_empty: bool = True,
) -> BuildResult:
    """Builds the models of one window.

    Args:
        lake: where the raw rows are.
        window: the half-open UTC interval to account for.
        as_of: knowledge time; rows ingested later are not used and later instants are not known.
            None means now.
        params: overrides of the parameters in catalog/parameters.csv, as text.
        target: the database file to make; None means the lake's own, which queries read.
        keep_empty: also keep a build of a window in which no GPU was paid for, in the place of the
            one before it.

    Raises:
        UsageError: a parameter that does not exist or does not fit its type.
        NoData: the window begins after the knowledge time, or holds nothing and is not kept.
        SourceUnreachable: the lake's place does not answer.
    """
    if window.start >= (as_of or datetime.now(UTC)):
        raise NoData(
            f"nothing can be known yet of a window that begins at {window.start}; take an earlier"
            " window, or a later --as-of"
        )
    folder = target.parent if target else lake.local_root
    folder.mkdir(parents=True, exist_ok=True)
    _sweep_scratch(folder)
    scratch = folder / f"{_SCRATCH}{uuid4().hex}"
    try:
        con = _connect_new(scratch)
        try:
            known_at = _whole_ms(as_of or datetime.now(UTC))
            checks = _build_into(con, lake, window, known_at, params or {})
            if not keep_empty:
                _refuse_empty(con, window)
        finally:
            con.close()
        database = scratch.replace(target) if target else lake.install_warehouse(scratch)
    finally:
        scratch.unlink(missing_ok=True)
        scratch.with_name(scratch.name + ".wal").unlink(missing_ok=True)
    return BuildResult(database, checks)


def _memory() -> str:
    return os.environ.get("GOODPUT_MEMORY") or MEMORY


def _connect_new(scratch: Path) -> duckdb.DuckDBPyConnection:
    try:
        con = connect(scratch)
        con.execute("set memory_limit = ?", [_memory()])
    except (duckdb.ParserException, duckdb.InvalidInputException):
        raise UsageError(f"GOODPUT_MEMORY takes an amount such as 4GB, not {_memory()!r}") from None
    except duckdb.IOException as error:
        first = str(error).splitlines()[0]
        raise GoodputError(
            f"{scratch.parent} cannot be written ({first}); check permissions and free space"
        ) from None
    return con


def _sweep_scratch(folder: Path) -> None:
    """Deletes what builds that were killed left behind; no build takes a day."""
    for left in folder.glob(f"{_SCRATCH}*"):
        with suppress(OSError):  # another build may sweep at the same moment
            if left.stat().st_mtime >= time.time() - _SCRATCH_SECONDS:
                continue
            if left.is_dir():  # what a large build spilled
                shutil.rmtree(left)
            else:
                left.unlink()


def _refuse_empty(con: duckdb.DuckDBPyConnection, window: Window) -> None:
    if con.sql("select 1 from ledger.gpu_time limit 1").fetchall():
        return
    [(first,)] = con.sql("select min(paid_from) from staged.nodes").fetchall()
    known = (
        _no_node_words(con)
        if first is None
        else f"its first node is from {first:%Y-%m-%d %H:%M}; take another window"
    )
    raise NoData(
        f"no GPU was paid for from {window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M}"
        f" UTC, as far as the lake knows: {known}"
    )


def _no_node_words(con: duckdb.DuckDBPyConnection) -> str:
    [(refused,)] = con.sql("select count(*) from quarantine where table_name = 'nodes'").fetchall()
    if not refused:
        return "it knows of no node; import or collect some"
    return (
        f"it knows of no node, and quarantine has {counted(refused, 'problem')} of the table nodes;"
        " see goodput query 'from quarantine', correct them and import again"
    )


def _whole_ms(instant: datetime) -> datetime:
    """The ledger counts whole milliseconds; so must what clips it."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def _build_into(
    con: duckdb.DuckDBPyConnection,
    lake: Lake,
    window: Window,
    as_of: datetime,
    params: Mapping[str, str],
) -> list[CheckResult]:
    models = find_models()
    snapshot = lake.snapshot()
    if snapshot.rows(snapshot.tables) <= _ROWS_OF_A_GROUP:
        con.execute("set threads = 1")
    load_catalog(con)
    set_variables(con, window, as_of, params)
    load_macros(con)
    record_build(con, lake, snapshot, params)
    empty = EmptyTables(models, params)
    make = partial(_make, con, snapshot=snapshot, as_of=as_of, empty=empty)
    made = (model for model in models if model.schema != CHECKS)
    for schema, members in groupby(made, key=lambda model: model.schema):
        if schema == LEDGER:
            book_halves(con, models, make)
        con.execute(f"create schema if not exists {schema}")
        for model in members:
            make(model)
        if schema == RAW:
            con.execute(open_quarantine_sql(as_of))
            empty.note("main.quarantine", is_empty="raw.quarantine" in empty)
        if schema == OBSERVED:
            gather(con, models, empty)
            make_signature_macros(con, have_lines="gathered.evidence" not in empty)
        if schema == METRICS:
            fill_intervals(con)
    return run_checks(con, models, empty)


def _make(
    con: duckdb.DuckDBPyConnection,
    model: Model,
    *,
    snapshot: Snapshot,
    as_of: datetime,
    empty: EmptyTables,
) -> None:
    has_nothing = empty.imply(model)
    try:
        if model.schema == RAW:
            files = snapshot.files(model.name)
            con.execute(raw_view_sql(raw_table(model.name), files, as_of))
            has_nothing = not files
        elif "sharded by" in model.keys:
            make_sharded(con, model, snapshot.rows(_STEP_TABLES))
        elif model.is_view:
            con.execute(model.definition)
        elif has_nothing:
            empty.make(con, model)
        else:
            has_nothing = con.execute(model.definition).fetchall() == [(0,)]
    except duckdb.OutOfMemoryException:
        raise GoodputError(
            f"the model {model.table} needs more memory than the build may use; set GOODPUT_MEMORY"
            f" to more than {_memory()}"
        ) from None
    except duckdb.Error as error:
        raise GoodputError(f"the model {model.table} failed: {error}") from error
    empty.note(model.table, is_empty=has_nothing)


def load_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Makes the macros that the models share, if there are any."""
    path = resource_dir("sql") / "macros.sql"
    if path.is_file():
        con.execute(path.read_text(encoding="utf-8"))


def set_variables(
    con: duckdb.DuckDBPyConnection, window: Window, as_of: datetime, params: Mapping[str, str]
) -> None:
    """Sets what SQL reads with getvariable(): the window, the knowledge time, the parameters."""
    for name, value in _parsed_parameters(con, params).items():
        # Products of these with the milliseconds of a second leave 32 bits.
        kind = "::bigint" if isinstance(value, int) else ""
        con.execute(f"set variable {name} = ?{kind}", [value])
    for name, instant in (
        ("window_start", window.start),
        # What lies after the knowledge time cannot be accounted for yet.
        ("window_end", min(window.end, as_of)),
        ("as_of", as_of),
    ):
        con.execute(f"set variable {name} = ?", [instant])
        con.execute(f"set variable {name}_ms = epoch_ms(getvariable('{name}'))")
    con.execute(f"set variable forever_ms = {FOREVER_MS}::bigint")


def require_parameters(params: Mapping[str, str]) -> None:
    """Refuses what no build would take.

    Raises:
        UsageError: a parameter that does not exist or does not fit its type.
    """
    with connect() as con:
        load_catalog(con)
        _parsed_parameters(con, params)


def _parsed_parameters(
    con: duckdb.DuckDBPyConnection, params: Mapping[str, str]
) -> dict[str, str | int | float | None]:
    """All parameters of the catalogue, with the overrides."""
    known = con.sql(
        "select name, coalesce(value::varchar, ''), type, coalesce(choices::varchar, '')"
        " from catalog.parameters"
    ).fetchall()
    defaults = {name: default for name, default, _, _ in known}
    if unknown := sorted(set(params) - set(defaults)):
        listed = f"; known are {', '.join(sorted(defaults))}"
        hint = did_you_mean(unknown[0], defaults.keys()) or listed
        raise UsageError(f"there is no parameter {unknown[0]!r}{hint}")
    texts = {**defaults, **params}
    return {
        name: _one_of(name, texts[name], choices.split("|"))
        if kind == "choice"
        else _parse_number(name, texts[name], is_whole=kind == "whole", may_lack=not default)
        for name, default, kind, choices in known
    }


def _one_of(name: str, text: str, choices: list[str]) -> str:
    if text not in choices:
        raise UsageError(f"parameter {name} takes {' or '.join(choices)}, not {text!r}")
    return text


def _parse_number(name: str, text: str, *, is_whole: bool, may_lack: bool) -> int | float | None:
    """A number, or null for the empty text of a parameter that has none by default."""
    if not text and may_lack:
        return None
    try:
        number = int(text) if text.isdecimal() else float(text)
    except ValueError:
        number = math.nan
    # Not so large that a sum with an instant leaves the whole numbers of 64 bits.
    if not 0 <= number <= _LARGEST_PARAMETER or (is_whole and number != int(number)):
        what = "whole number" if is_whole else "number"
        raise UsageError(
            f"parameter {name} takes a {what} from 0 to {_LARGEST_PARAMETER}, not {text!r}"
        )
    return int(number) if is_whole else number


def record_build(
    con: duckdb.DuckDBPyConnection, lake: Lake, snapshot: Snapshot, params: Mapping[str, str]
) -> None:
    """Stores in the schema `meta` what this build was made from and its parameters."""
    con.execute("create schema meta")
    con.execute(
        "create table meta.build as select ?::varchar as lake, ?::varchar as goodput_version,"
        " ?::timestamptz as built_at, getvariable('window_start')::timestamptz as window_start,"
        " getvariable('window_end')::timestamptz as window_end,"
        " getvariable('as_of')::timestamptz as as_of, ?::varchar as last_commit",
        [
            lake.url,
            __version__,
            datetime.now(UTC),
            snapshot.commits[-1].name if snapshot.commits else None,
        ],
    )
    con.execute("create table meta.parameters (name varchar, value varchar)")
    for name, value in sorted(params.items()):
        con.execute("insert into meta.parameters values (?, ?)", [name, value])


def restore_variables(con: duckdb.DuckDBPyConnection) -> None:
    """Sets the variables that a built warehouse was made with, so that its checks can run again."""
    start, end, as_of = con.sql(
        "select window_start, window_end, as_of from meta.build"
    ).fetchall()[0]
    params = dict(con.sql("select name, value from meta.parameters").fetchall())
    set_variables(con, Window(start, end), as_of, params)
