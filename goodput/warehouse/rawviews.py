"""SQL of the views that show the lake's Parquet files in the types of the contract."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from goodput.contract import RawTable, quoted, raw_table

QUARANTINE = "quarantine"


def raw_view_sql(spec: RawTable, files: Sequence[str], as_of: datetime | None = None) -> str:
    """SQL that makes the view raw.<table> over some files.

    A column that no file has yet is NULL, so a contract may grow without rewriting the lake.

    Args:
        as_of: leave out rows that were ingested later. Quarantined rows always stay: they tell
            about the input, and what is wrong with it does not depend on the day of the question.
    """
    typed = ", ".join(f"null::{kind} as {quoted(name)}" for name, kind in spec.columns.items())
    nothing = f"select {typed} where false"
    if not files:
        return f"create view raw.{spec.name} as {nothing}"
    names = ", ".join(
        f"cast({quoted(name)} as {kind}) as {quoted(name)}" for name, kind in spec.columns.items()
    )
    listing = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    rows = (
        f"{nothing} union all by name select * from read_parquet([{listing}],"
        " union_by_name = true, hive_partitioning = false)"
    )
    known = "true"
    if as_of is not None and spec.name != QUARANTINE:
        # The view outlives the session's variables, so it holds the instant itself.
        micros = round(as_of.timestamp() * 1_000_000)
        known = f"ingested_at is null or epoch_us(ingested_at) <= {micros}"
    return f"create view raw.{spec.name} as select {names} from ({rows}) where {known}"


def open_quarantine_sql(as_of: datetime | None = None) -> str:
    """SQL that makes the view main.quarantine: the problems that no later import cleared, in order.

    Args:
        as_of: leave out what was cleared, or came back, later.
    """
    spec = raw_table(QUARANTINE)
    turns = ("cleared_at", "again_at")
    turn = f"coalesce({', '.join(turns)})"
    # Files of one name in two places may have the same problem: each is corrected by itself.
    names = [*(name for name in spec.domain_columns if name not in turns), "ingested_from"]
    problem = ", ".join(map(quoted, names))
    known = "true"
    if as_of is not None:
        known = f"{turn} is null or epoch_us({turn}) <= {round(as_of.timestamp() * 1_000_000)}"
    return (
        f"create view main.{QUARANTINE} as select * exclude ({', '.join(turns)})"
        f" from (select * from raw.{QUARANTINE} where {known} qualify row_number() over"
        f" (partition by {problem} order by {turn} desc nulls last) = 1) where cleared_at is null"
        " order by file, row_number"
    )
