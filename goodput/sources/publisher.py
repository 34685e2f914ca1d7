"""Gathers rows by table and publishes them in large pieces, good rows and refused ones alike."""

from __future__ import annotations

from datetime import datetime

import polars as pl

from goodput.contract import polars_schema
from goodput.lake import Lake, new_run_id
from goodput.logs.redact import redact
from goodput.sources.rowfiles import Problem

QUARANTINE = "quarantine"
# Lines of logs are redacted where they are cut out.
_FREE_TEXT = {"evidence": ("value",), "kube_events": ("message",), "quarantine": ("value",)}
_PUBLISH_ROWS = 2_000_000


class Publisher:
    """One run of a collector or an import: few commits, bounded memory.

    Attributes:
        rows_added: rows by table that the lake did not have, up to the last flush.
        quarantined: problems so far, whether the lake had them already or not.
    """

    def __init__(self, lake: Lake, ingested_from: str, ingested_at: datetime | None) -> None:
        self.rows_added: dict[str, int] = {}
        self.quarantined = 0
        self._lake = lake
        self._from = ingested_from
        self._at = ingested_at
        self._run_id = new_run_id()
        self._frames: dict[str, list[pl.DataFrame]] = {}
        self._waiting = 0

    def add(self, table: str, rows: pl.DataFrame) -> None:
        """Takes rows of a raw table; publishes when enough are together."""
        if not rows.height:
            return
        rows = redacted(table, rows)
        self._frames.setdefault(table, []).append(rows)
        self._waiting += rows.height
        if self._waiting >= _PUBLISH_ROWS:
            self.flush()

    def refuse(self, cluster: str, file: str, table: str, problems: list[Problem]) -> None:
        """Takes what could not be read as rows of a table."""
        self.quarantined += len(problems)
        self.add(QUARANTINE, quarantine_frame(cluster, file, table, problems))

    def flush(self) -> None:
        """Publishes what is waiting, in one commit."""
        tables = {
            table: pl.concat(frames, how="diagonal") for table, frames in self._frames.items()
        }
        published = self._lake.publish(
            tables, ingested_from=self._from, ingested_at=self._at, run_id=self._run_id
        )
        for table, rows in published.rows_added.items():
            self.rows_added[table] = self.rows_added.get(table, 0) + rows
        self._frames, self._waiting = {}, 0


def redacted(table: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with secrets taken out of columns that hold what somebody wrote."""
    for column in _FREE_TEXT.get(table, ()):
        if column in rows.columns and rows.schema[column] == pl.String:
            # Events repeat: each text is looked at once.
            texts = rows[column].drop_nulls().unique()
            changed = {text: safe for text in texts if (safe := redact(text)) != text}
            rows = rows.with_columns(pl.col(column).replace(changed)) if changed else rows
    return rows


def quarantine_frame(cluster: str, file: str, table: str, problems: list[Problem]) -> pl.DataFrame:
    """Problems as rows of raw.quarantine."""
    columns = {
        "cluster": [cluster] * len(problems),
        "file": [file] * len(problems),
        "row_number": [problem.row_number for problem in problems],
        "table_name": [table] * len(problems),
        "column_name": [problem.column for problem in problems],
        "value": [problem.value for problem in problems],
        "reason": [problem.reason for problem in problems],
    }
    schema = polars_schema(QUARANTINE)
    return pl.DataFrame(columns, schema={name: schema[name] for name in columns})
