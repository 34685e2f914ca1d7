"""Puts what `goodput.sources.dump` recognised into the lake."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from goodput._files import path_text
from goodput.lake import Lake
from goodput.sources import kernel_log
from goodput.sources.artefact import Problem, quarantine_row
from goodput.sources.dump import FileReport
from goodput.sources.earlier_problems import EarlierProblems
from goodput.sources.publisher import QUARANTINE, Publisher, Rows, Taken
from goodput.sources.typed import table_and_kind

_FROM = "dump"

# What a file of a typed table is taken for by its content alone.
_UNKNOWN = ("log", "binary")


def take_dump(
    lake: Lake,
    reports: Iterable[tuple[FileReport, Rows]],
    *,
    cluster: str,
    now: datetime,
    say: Callable[[str], None] = lambda _: None,
) -> Taken:
    """Publishes the rows of dumped files, known from `now` on.

    Args:
        reports: as `collect_files` gives them, one file at a time.
        say: told one line per file, and which kernel logs do not say whose they are.
    """
    publisher = Publisher(lake, _FROM, lambda: now, cluster=cluster)
    typed_folders: dict[str, None] = {}
    with closing(publisher):
        earlier = EarlierProblems(lake, cluster, _FROM)
        publisher.tell = earlier.meet
        for report, tables in reports:
            before = publisher.quarantined
            typed = table_and_kind(Path(report.file).name)[0]
            if typed and report.format in _UNKNOWN:
                typed_folders[str(Path(report.file).parent)] = None
                report, tables = _refused(report.file, cluster, typed)  # noqa: PLW2901
            name = path_text(Path(report.file).absolute())
            tables = _named(name, tables)  # noqa: PLW2901
            _meet(earlier, name, tables[QUARANTINE])
            publisher.take(tables, name)
            publisher.check()
            say(_sentence(report, publisher.quarantined - before))
            if nameless := kernel_log.nameless(tables):
                say(f"{report.file}: {nameless}")
        publisher.settle(earlier.rows(now))
        publisher.flush()
    return replace(publisher.taken, typed_folders=tuple(typed_folders))


def _named(name: str, tables: Rows) -> Rows:
    """The rows with problems under the name of the file from the root on: relative ones repeat."""
    refused = [{**row, "file": name} for row in tables.get(QUARANTINE, ())]
    return {**tables, QUARANTINE: refused}


def _meet(earlier: EarlierProblems, file: str, refused: Sequence[dict[str, Any]]) -> None:
    """Notes what is wrong with a file this time."""
    earlier.read(file)
    for row in refused:
        place = row["row_number"], row["column_name"], row["value"], row["reason"]
        earlier.meet(file, row["table_name"], [Problem(*place)])


def _refused(
    file: str, cluster: str, table: str
) -> tuple[FileReport, dict[str, list[dict[str, Any]]]]:
    """What a file of a typed table gives instead of what its text was taken for."""
    hints = {"cluster": cluster, "file": file}
    reason = f"a file of a typed table: `goodput import {Path(file).parent}` takes it"
    row = quarantine_row(hints, None, None, reason, table=table, column=None)
    return FileReport(file, "typed table", {}), {QUARANTINE: [row]}


def _sentence(report: FileReport, quarantined: int) -> str:
    rows = [f"{count} {table}" for table, count in report.rows.items() if table != QUARANTINE]
    refused = [f"{quarantined} quarantined"] if quarantined else []
    return f"{report.file}: {report.format}: {', '.join(rows + refused) or 'nothing'}"
