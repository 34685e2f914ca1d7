"""A lake, and collectors that run against it at instants that the test chooses."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from goodput.contract import quoted
from goodput.lake import Lake
from goodput.sources.live_checkpoints import take_checkpoints
from goodput.sources.live_logs import LogFiles, LogOptions, take_logs

DAY = datetime(2026, 3, 2, tzinfo=UTC)


class Runs:
    """Runs of the collectors at seconds of DAY, into one lake."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lake = Lake.open(str(folder), create=True)
        self.said: list[str] = []
        self.say = self.said.append

    def logs(self, *paths, at, again=False, **options):
        """Rows added by table, without tables that got none; each run adds to log_lists."""
        taken = take_logs(
            self.lake,
            LogFiles([str(path) for path in paths]),
            LogOptions(**options),
            now=_at(at),
            again=again,
            say=self.say,
        )
        self.taken = taken
        added = {table: rows for table, rows in taken.rows_added.items() if rows}
        added.pop("log_lists", None)
        return added

    def checkpoints(self, *roots, at, **options):
        taken = take_checkpoints(
            self.lake,
            [str(root) for root in roots],
            cluster="default",
            now=_at(at),
            say=self.say,
            **options,
        )
        self.taken = taken
        return {table: rows for table, rows in taken.rows_added.items() if rows}

    def rows(self, table, *columns):
        """The rows of a raw table, in the order in which they became known."""
        names = ", ".join(map(quoted, columns))
        order = ", ".join(f"{quoted(name)} nulls first" for name in columns)
        query = f"select {names} from raw.{table} order by ingested_at, run_id, {order}"
        return [tuple(map(_plain, row.values())) for row in self.lake.ask(table, query)]


def _at(second):
    return DAY + timedelta(seconds=second)


def _plain(value):
    return (value - DAY).total_seconds() if isinstance(value, datetime) else value


def put(path: Path, content: str | bytes, *, at: float) -> Path:
    """Writes a file whose last write was at a second of DAY."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    touch(path, at)
    return path


def touch(path: Path, at: float) -> None:
    milliseconds = round(_at(at).timestamp() * 1000)
    os.utime(path, ns=(milliseconds * 1_000_000,) * 2)
