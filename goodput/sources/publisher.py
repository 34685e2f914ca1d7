"""Gathers rows by table and publishes them in large pieces, good rows and refused ones alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from goodput.contract import quoted, raw_table, raw_tables
from goodput.lake import Lake, new_run_id
from goodput.logs.redact import redact
from goodput.rows import Columns, load
from goodput.sources.artefact import Problem
from goodput.sources.checked import CHECKED, ColumnRows, check_columns, check_rows
from goodput.warehouse.connection import connect

QUARANTINE = "quarantine"

# Lines of logs and what a cluster's objects say are redacted where they are cut out.
_FREE_TEXT = {
    "collector_gaps": ("reason",),
    "evidence": ("value",),
    "log_lists": ("reason",),
    "quarantine": ("column_name", "value", "reason"),
}
_LOADED, _FRAME = "loaded rows", "rows of a frame"

Rows = Mapping[str, Sequence[dict[str, Any]]]
"""Rows by raw table, as readers make them."""


@dataclass(frozen=True)
class Taken:
    """What one run took.

    Attributes:
        rows_taken: good rows, whether the lake had them already or not.
        rows_added: rows by table that the lake did not have.
        quarantined: problems found.
        typed_folders: of a dump, those with files of typed tables, which `goodput import` takes.
    """

    rows_taken: int
    rows_added: dict[str, int]
    quarantined: int
    typed_folders: tuple[str, ...] = ()


class Publisher:
    """One run of a collector or an import: few commits, bounded memory.

    Rows wait in a session in memory, in a table for each raw table; close it at the end.

    Attributes:
        con: the session.
        rows_taken: good rows, whether the lake had them or not.
        rows_added: rows by table that the lake did not have, up to the last flush.
        quarantined: problems so far, whether the lake had them already or not.
        tell: called with the source, the table and the problems of rows that are refused.
    """

    def __init__(
        self,
        lake: Lake,
        ingested_from: str,
        clock: Callable[[], datetime | None],
        *,
        cluster: str,
        last: str = "",
        check_rows: int = 20_000,
        publish_rows: int = 2_000_000,
    ) -> None:
        """Begins empty.

        Args:
            lake: where the rows go.
            ingested_from: what they are read from, where they do not say.
            clock: knowledge time, asked at each publish.
            cluster: of the problems that are found.
            last: the table whose rows say that those of the others are complete.
            check_rows: rows that are checked together, as each check costs some time.
            publish_rows: rows that are published together.
        """
        raw_tables()  # reads the DDL in a session of its own, whose memory is free again for ours
        self.con = connect()
        self.rows_taken = 0
        self.rows_added: dict[str, int] = {}
        self.quarantined = 0
        self.tell: Callable[[str, str, Sequence[Problem]], None] = lambda *_: None
        self._lake = lake
        self._from = ingested_from
        self._clock = clock
        self._cluster = cluster
        self._last = last
        self._check_rows = check_rows
        self._publish_rows = publish_rows
        self._run_id = new_run_id()
        self._unchecked: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        self._unchecked_rows = 0
        self._waiting: dict[str, int] = {}

    @property
    def taken(self) -> Taken:
        """What it took up to the last flush."""
        return Taken(self.rows_taken, self.rows_added, self.quarantined)

    def close(self) -> None:
        """Forgets what was not flushed."""
        self.con.close()

    def take(self, rows: Rows, source: str) -> None:
        """Takes rows that were read from a source; those that break the contract are refused."""
        for table, some in rows.items():
            if hasattr(some, "columns"):
                self._take_columns(table, some, source)
                continue
            self._unchecked.setdefault(table, []).extend((source, row) for row in some)
            self._unchecked_rows += len(some)
        if self._unchecked_rows >= self._check_rows:
            self.check()

    def take_columns(self, table: str, columns: Columns) -> None:
        """Takes rows that the collector made itself, column by column."""
        load(self.con, _LOADED, raw_table(table), columns)
        self.add(table, _LOADED)

    def _take_columns(self, table: str, rows: ColumnRows, source: str) -> None:
        problems = check_columns(self.con, table, rows, source)
        self.add(table, CHECKED)
        self.refuse(source, table, problems)

    def refuse(self, file: str, table: str, problems: Sequence[Problem]) -> None:
        """Takes what could not be read as rows of a table."""
        if problems:
            self.tell(file, table, problems)
            self.take_columns(QUARANTINE, _quarantined(self._cluster, file, table, problems))

    def settle(self, rows: Sequence[dict[str, Any]]) -> None:
        """Takes turns of earlier problems, which are no new ones."""
        names = list(raw_table(QUARANTINE).domain_columns)
        if rows:
            columns = {name: [row.get(name) for row in rows] for name in names}
            self.take_columns(QUARANTINE, {**columns, "cluster": [self._cluster] * len(rows)})
            self.quarantined -= len(rows)

    def add(self, table: str, source: Any) -> None:
        """Takes rows that keep the contract; publishes when enough are together.

        Args:
            table: the raw table.
            source: the name of a table of the session, or a frame that DuckDB can read.
        """
        if not isinstance(source, str):
            self.con.register(_FRAME, source)
            self.add(table, _FRAME)
            self.con.unregister(_FRAME)
            return
        if table not in self._waiting:
            self._make_room(table)
        [(count,)] = self.con.execute(
            f"insert into {_waiting(table)} by name select * from {quoted(source)}"
        ).fetchall()
        self._waiting[table] += count
        if table == QUARANTINE:
            self.quarantined += count
        else:
            self.rows_taken += count
        if sum(self._waiting.values()) >= self._publish_rows:
            self._publish()

    def _make_room(self, table: str) -> None:
        columns = ", ".join(
            f"{quoted(name)} {kind}" for name, kind in raw_table(table).columns.items()
        )
        self.con.execute(f"create or replace temp table {_waiting(table)} ({columns})")
        self._waiting[table] = 0

    def check(self) -> None:
        """Checks the rows that were taken since the last check."""
        unchecked, self._unchecked, self._unchecked_rows = self._unchecked, {}, 0
        for table in sorted(filter(unchecked.get, unchecked), key=lambda name: name == self._last):
            sources = [source for source, _ in unchecked[table]]
            # A problem names its file; where it is from tells whose look may clear it.
            origins = [self._from] * len(sources) if table == QUARANTINE else sources
            problems = check_rows(self.con, table, [row for _, row in unchecked[table]], origins)
            self.add(table, CHECKED)
            by_source: dict[str, list[Problem]] = {}
            for problem in problems:
                assert problem.row_number is not None
                by_source.setdefault(sources[problem.row_number], []).append(problem)
            for source, of_source in by_source.items():
                self.refuse(source, table, of_source)

    def flush(self) -> None:
        """Publishes what is waiting, in one commit."""
        self.check()
        self._publish()

    def _publish(self) -> None:
        tables = [table for table, rows in self._waiting.items() if rows]
        if not tables:
            return
        for table in tables:
            self._redact(table)
        published = self._lake.publish(
            {table: _waiting(table) for table in tables},
            ingested_from=self._from,
            ingested_at=self._clock(),
            run_id=self._run_id,
            con=self.con,
        )
        for table, rows in published.rows_added.items():
            self.rows_added[table] = self.rows_added.get(table, 0) + rows
        for table in tables:
            self._make_room(table)

    def _redact(self, table: str) -> None:
        """Takes secrets out of columns that hold what somebody wrote."""
        for column in _FREE_TEXT.get(table, ()):
            # Events repeat: each text is looked at once.
            texts = self.con.execute(f"select distinct {column} from {_waiting(table)}").fetchall()
            safe = {text: redact(text) for (text,) in texts if text is not None}
            changed = [(text, told) for text, told in safe.items() if told != text]
            if changed:
                self.con.execute(
                    f"update {_waiting(table)} set {column} = told from"
                    " (select unnest($1) as text, unnest($2) as told)"
                    f" where {column} = text",
                    [list(part) for part in zip(*changed, strict=True)],
                )


def _waiting(table: str) -> str:
    return f"waiting_{table}"


def _quarantined(cluster: str, file: str, table: str, problems: Sequence[Problem]) -> Columns:
    """Problems as rows of raw.quarantine."""
    return {
        "cluster": [cluster] * len(problems),
        "file": [file] * len(problems),
        "row_number": [problem.row_number for problem in problems],
        "table_name": [table] * len(problems),
        "column_name": [problem.column for problem in problems],
        "value": [problem.value for problem in problems],
        "reason": [problem.reason for problem in problems],
    }
