"""Rows on their way into the lake: the contract's columns, their identity, Parquet bytes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from operator import itemgetter

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb.sqltypes import DuckDBPyType

from goodput.contract import children, polars_schema, quoted, raw_table
from goodput.errors import GoodputError

DEFAULT_CLUSTER = "default"
_ROW_GROUP_ROWS = 122_880


def conform(table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame in the contract's columns, types and order; what is missing becomes NULL.

    Raises:
        GoodputError: a column that the contract does not have, or a value of the wrong type.
    """
    schema = polars_schema(table)
    if unknown := sorted(set(frame.columns) - set(schema)):
        raise GoodputError(
            f"raw.{table} has no column {unknown[0]!r}; sql/00_raw declares its columns"
        )
    try:
        return frame.select(
            (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
            for name, kind in schema.items()
        )
    except pl.exceptions.PolarsError as error:
        raise GoodputError(f"rows for raw.{table} do not fit its types: {error}") from None


def with_row_ids(con: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in the contract's columns, each content once, with `row_id`.

    row_id is the first 96 bits of a SHA-256 over a canonical text of the non-null domain columns in
    the order of their names, and of an ingested_at that the row brought: the same for the same
    content whatever the column order, and unmoved by columns that the contract gains later.

    Args:
        con: any session; it only computes.
    """
    spec = raw_table(table)
    rows = conform(table, frame).with_columns(pl.col("cluster").fill_null(DEFAULT_CLUSTER))
    identity = {**spec.domain_columns, "ingested_at": spec.columns["ingested_at"]}
    parts = ", ".join(
        f"'{name}=' || {_canonical(quoted(name), identity[name])}" for name in sorted(identity)
    )
    con.register("given_rows", rows.to_arrow())
    keys = con.sql(
        f"select left(sha256(concat_ws(chr(31), {parts})), 24) as row_id from given_rows"  # noqa: S608 - names of the contract
    )
    identified = rows.with_columns(pl.from_arrow(keys.to_arrow_table()))
    con.unregister("given_rows")
    return identified.unique("row_id", keep="first", maintain_order=True)


def _canonical(expression: str, kind: DuckDBPyType, depth: int = 0) -> str:
    """SQL for a text of a value that no two values share; NULL stays NULL at the top.

    Texts carry their length, so no content can imitate a separator.
    """
    if kind.id == "varchar":
        return f"(length({expression}) || ':' || {expression})"
    if kind.id == "timestamp with time zone":
        return f"epoch_ms({expression})::varchar"
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


def without(frame: pl.DataFrame, known_row_ids: Sequence[pa.ChunkedArray]) -> pl.DataFrame:
    """The rows whose row_id is not among those."""
    if not known_row_ids:
        return frame
    known = pl.concat([pl.Series("row_id", ids) for ids in known_row_ids])
    return frame.join(known.to_frame(), on="row_id", how="anti")


def with_provenance(
    frame: pl.DataFrame, ingested_from: str, ingested_at: datetime | None, run_id: str
) -> pl.DataFrame:
    """The rows with source, knowledge time (where they do not say) and run."""
    known = None if ingested_at is None else ingested_at.astimezone(UTC)
    return frame.with_columns(
        pl.col("ingested_at").fill_null(pl.lit(known, dtype=pl.Datetime("ms", "UTC"))),
        pl.col("ingested_from").fill_null(ingested_from),
        pl.lit(run_id).alias("run_id"),
    )


def days_of(table: str, frame: pl.DataFrame, none: str) -> pl.Series:
    """The partition of each row: the UTC day of the table's day column, `none` without one."""
    column = raw_table(table).day
    if column is None:
        return pl.repeat(none, frame.height, dtype=pl.String, eager=True).alias("day")
    return frame[column].dt.strftime("%Y-%m-%d").fill_null(none).alias("day")


def by_day(table: str, frame: pl.DataFrame, none: str) -> list[tuple[str, pl.DataFrame]]:
    """The rows of each day, in the order that the table's files keep."""
    order = raw_table(table).sorted_by
    parts = frame.with_columns(days_of(table, frame, none).alias("partition day")).partition_by(
        "partition day", as_dict=True, include_key=False
    )
    return [
        (str(day), part.sort(order, maintain_order=True) if order else part)
        for (day,), part in sorted(parts.items())
    ]


def first_known(table: str, tables: Sequence[pa.Table]) -> tuple[pl.DataFrame, int]:
    """Rows of several files as one, and how many copies that left out.

    Of copies that two writers left, the one known first counts: NULL is "from the start".
    """
    together = pl.concat([conform(table, pl.DataFrame(rows)) for rows in tables])
    rows = together.sort("ingested_at", nulls_last=False, maintain_order=True).unique(
        "row_id", keep="first", maintain_order=True
    )
    return rows, together.height - rows.height


def to_parquet(frame: pl.DataFrame) -> pa.Buffer:
    """Parquet bytes: zstd, deltas for whole numbers and instants, dictionaries for texts."""
    table = frame.to_arrow()
    deltas = {
        field.name: "DELTA_BINARY_PACKED"
        for field in table.schema
        if pa.types.is_integer(field.type) or pa.types.is_timestamp(field.type)
    }
    dictionaries = [
        field.name for field in table.schema if field.name not in deltas and field.name != "row_id"
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        row_group_size=_ROW_GROUP_ROWS,
        use_dictionary=dictionaries,
        column_encoding=deltas,
    )
    return sink.getvalue()
