"""Rows of many small files, checked against the contract together: one check a file is slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from goodput.sources.checked import checked_rows
from goodput.sources.publisher import QUARANTINE, Publisher
from goodput.sources.rowfiles import Problem

_BATCH_ROWS = 20_000


class Batch:
    """Takes rows file by file and hands good ones and problems to a publisher."""

    def __init__(
        self, publisher: Publisher, con: duckdb.DuckDBPyConnection, cluster: str, last: str
    ) -> None:
        """Begins empty.

        Args:
            con: any session; it only computes.
            cluster: of the problems that are found.
            last: the table whose rows say that those of the others are complete.
        """
        self._publisher = publisher
        self._con = con
        self._cluster = cluster
        self._last = last
        self._rows: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self._waiting = 0

    def add(self, file: str, tables: Mapping[str, Sequence[dict[str, Any]]]) -> None:
        """Takes the rows of one file."""
        for table, rows in tables.items():
            self._rows.setdefault(table, []).extend((file, row) for row in rows)
            self._waiting += len(rows)
        if self._waiting >= _BATCH_ROWS:
            self.flush()

    def flush(self) -> None:
        """Checks what is waiting and hands it on."""
        for table in sorted(self._rows, key=lambda name: name == self._last):
            frame, problems = checked_pairs(self._con, table, self._rows[table])
            self._publisher.add(table, frame)
            for file, of_file in problems.items():
                self._publisher.refuse(self._cluster, file, table, of_file)
            self._publisher.quarantined += frame.height if table == QUARANTINE else 0
        self._rows, self._waiting = {}, 0


def checked_pairs(
    con: duckdb.DuckDBPyConnection, table: str, pairs: Sequence[tuple[str, dict[str, Any]]]
) -> tuple[pl.DataFrame, dict[str, list[Problem]]]:
    """Rows that keep the contract, with `ingested_from`, and what is wrong with others, by source.

    Args:
        con: any session; it only computes.
        pairs: each row with what it was read from.
    """
    frame, problems = checked_rows(con, table, [row for _, row in pairs])
    bad = {problem.row_number for problem in problems}
    sources = [source for number, (source, _) in enumerate(pairs) if number not in bad]
    by_source: dict[str, list[Problem]] = {}
    for problem in problems:
        assert problem.row_number is not None
        by_source.setdefault(pairs[problem.row_number][0], []).append(problem)
    return frame.with_columns(pl.Series("ingested_from", sources, pl.String)), by_source
