"""Rows on stdout: as a table for people, JSON or CSV for programs, Parquet for other tools.

JSON keeps values exact: whole numbers of any size as numbers, decimals as texts, instants as
RFC 3339 in UTC, lists as lists. In CSV, a text that a spreadsheet would take for a formula has a
quote before it. What a terminal would obey is shown escaped in tables.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any
from uuid import UUID

import click
import duckdb

from goodput.errors import UsageError

_CELL_WIDTH = 100
_LINES_AT_ONCE = 1000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def print_result(result: duckdb.DuckDBPyRelation, form: str) -> None:
    """Prints what a statement gave."""
    if form == "parquet":
        _print_parquet(result)
        return
    print_rows(result.columns, result.fetchall(), form)


def print_rows(names: Sequence[str], rows: Iterable[Sequence[Any]], form: str) -> None:
    """Prints rows in one of the forms for text."""
    if form == "json":
        _print_json(names, rows)
    elif form == "csv":
        _print_csv(names, rows)
    elif form == "table":
        _print_table(names, rows)
    else:
        raise UsageError(f"this verb has no rows to write as {form}")


def json_value(value: Any) -> Any:
    """A value of DuckDB as one that JSON can say without loss."""
    if type(value) in _PLAIN:
        return value
    for kinds, encode in _ENCODERS:
        if isinstance(value, kinds):
            return encode(value)
    return value


def _write(text: str) -> None:
    """Data as it is: without `color`, click would cut escape sequences out of it."""
    click.echo(text, nl=False, color=True)


@lru_cache(maxsize=4096)
def _instant_text(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat()
    return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _number(value: Decimal) -> int | str:
    return int(value) if value == value.to_integral_value() else str(value)


# Most cells are one of these; a fleet's metrics have millions of them.
_PLAIN = frozenset({str, int, bool, type(None)})

_ENCODERS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (float, lambda value: value if math.isfinite(value) else None),
    (datetime, _instant_text),
    (Decimal, _number),
    ((list, tuple), lambda items: [json_value(item) for item in items]),
    (dict, lambda items: {str(key): json_value(item) for key, item in items.items()}),
    (bytes, bytes.hex),
    ((date, time, timedelta, UUID), str),
)


def _print_json(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two columns are named {twice[0]}; name one of them with `as`")
    encode = json.JSONEncoder(ensure_ascii=False).encode
    lines = (encode(dict(zip(names, map(json_value, row), strict=True))) for row in rows)
    opening = "["
    while chunk := list(islice(lines, _LINES_AT_ONCE)):
        _write(opening + "\n" + ",\n".join(chunk))
        opening = ","
    _write("[]\n" if opening == "[" else "\n]\n")


def _print_csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    buffer = io.StringIO()
    writer = csv.writer(_UnixLines(buffer), lineterminator="\r\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_csv_cell(value) for value in row])
        if buffer.tell() > 1 << 20:
            _write(buffer.getvalue())
            buffer.seek(0)
            buffer.truncate()
    _write(buffer.getvalue())


class _UnixLines:
    """Takes rows that end in CR LF: only so does the library quote cells with either of them."""

    def __init__(self, buffer: io.StringIO) -> None:
        self._buffer = buffer

    def write(self, row: str) -> int:
        return self._buffer.write(row.removesuffix("\r\n") + "\n")


def _csv_cell(value: Any) -> Any:
    # A spreadsheet would compute it, and texts come from the cluster.
    if isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    plain = json_value(value)
    nested = isinstance(plain, list | dict)
    return json.dumps(plain, ensure_ascii=False) if nested or isinstance(plain, bool) else plain


def _print_table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    cells = [[shown(value) for value in row] for row in rows]
    if not cells:
        click.echo("no rows", err=True)
        return
    numeric = [all(_is_number(row[i]) for row in cells) for i in range(len(names))]
    widths = [max(len(name), *(len(row[i]) for row in cells)) for i, name in enumerate(names)]
    form = "  ".join(
        f"{{:{'>' if right else '<'}{width}}}" for width, right in zip(widths, numeric, strict=True)
    )
    lines = [form.format(*line).rstrip() for line in [[shown(name) for name in names], *cells]]
    for first in range(0, len(lines), _LINES_AT_ONCE):
        click.echo("\n".join(lines[first : first + _LINES_AT_ONCE]))


def shown(value: Any) -> str:
    """A value for a person: short, on one line, with nothing that a terminal would obey."""
    plain = json_value(value)
    if plain is None:
        return ""
    if isinstance(plain, str):
        text = plain
    elif isinstance(plain, float):
        text = _plain_number(plain)
    else:
        text = json.dumps(plain, ensure_ascii=False)
    if text.isprintable():
        safe = text
    else:
        safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= _CELL_WIDTH else safe[: _CELL_WIDTH - 1] + "…"


def _plain_number(value: float) -> str:
    """Six digits that matter, and of a number that is larger all before the point; no exponents."""
    if value and abs(value) < 1e-12:
        return f"{value:.6g}"
    if abs(value) >= 1e5:
        return f"{value:.0f}" if abs(value) < 1e15 else f"{value:.6g}"
    text = f"{value:.6g}"
    if "e" not in text:
        return text
    return f"{value:.{5 - math.floor(math.log10(abs(value)))}f}".rstrip("0")


def _is_number(text: str) -> bool:
    return not text or text.replace(".", "", 1).replace("-", "").replace("e", "").isdigit()


def _print_parquet(result: duckdb.DuckDBPyRelation) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if sys.stdout.isatty():
        raise UsageError("Parquet is not for terminals; redirect it: … -o parquet > rows.parquet")
    buffer = io.BytesIO()
    table: Any = result.to_arrow_table()
    try:
        pq.write_table(table, buffer, compression="zstd")
    except pa.ArrowNotImplementedError as error:
        raise UsageError(
            f"Parquet has no such type ({error}); make it a text: column::varchar"
        ) from None
    click.echo(buffer.getvalue(), nl=False)
