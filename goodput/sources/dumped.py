"""Puts what `goodput.sources.dump` recognised into the lake."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import polars as pl

from goodput.lake import Lake
from goodput.sources.checked import checked_rows
from goodput.sources.dump import FileReport
from goodput.sources.publisher import QUARANTINE, Publisher


@dataclass(frozen=True)
class Taken:
    """What a dump gave.

    Attributes:
        rows_taken: good rows, whether the lake had them already or not.
        rows_added: rows by table that the lake did not have.
        quarantined: problems found.
    """

    rows_taken: int
    rows_added: dict[str, int]
    quarantined: int


def take_dump(
    lake: Lake,
    reports: Iterable[tuple[FileReport, dict[str, list[dict[str, Any]]]]],
    *,
    cluster: str,
    now: datetime,
    say: Callable[[str], None] = lambda _: None,
) -> Taken:
    """Publishes the rows of dumped files, known from `now` on.

    Args:
        reports: as `collect_files` gives them, one file at a time.
        say: told one line per file.
    """
    publisher = Publisher(lake, "dump", ingested_at=now)
    taken = 0
    with duckdb.connect() as con:
        for report, tables in reports:
            before = publisher.quarantined
            for table, rows in tables.items():
                frame, problems = checked_rows(con, table, rows)
                source = pl.lit(report.file).alias("ingested_from")
                publisher.add(table, frame.with_columns(source))
                publisher.refuse(cluster, report.file, table, problems)
                if table == QUARANTINE:
                    publisher.quarantined += frame.height
                else:
                    taken += frame.height
            say(_sentence(report, publisher.quarantined - before))
    publisher.flush()
    return Taken(taken, publisher.rows_added, publisher.quarantined)


def _sentence(report: FileReport, quarantined: int) -> str:
    rows = [f"{count} {table}" for table, count in report.rows.items() if table != QUARANTINE]
    refused = [f"{quarantined} quarantined"] if quarantined else []
    return f"{report.file}: {report.format}: {', '.join(rows + refused) or 'nothing'}"
