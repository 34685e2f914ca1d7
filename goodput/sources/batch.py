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
            pairs = self._rows[table]
            frame, problems = checked_rows(self._con, table, [row for _, row in pairs])
            bad = {problem.row_number for problem in problems}
            files = [file for number, (file, _) in enumerate(pairs) if number not in bad]
            sources = pl.Series("ingested_from", files, pl.String)
            self._publisher.add(table, frame.with_columns(sources))
            by_file: dict[str, list[Problem]] = {}
            for problem in problems:
                assert problem.row_number is not None
                by_file.setdefault(pairs[problem.row_number][0], []).append(problem)
            for file, of_file in by_file.items():
                self._publisher.refuse(self._cluster, file, table, of_file)
            self._publisher.quarantined += len(files) if table == QUARANTINE else 0
        self._rows, self._waiting = {}, 0
