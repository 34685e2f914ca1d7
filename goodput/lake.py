"""The lake: raw rows as Parquet files, and a log of commits that says which files count.

Layout, in a folder or below a prefix of an object store (goodput.lakefiles knows the difference):

    <lake>/raw/<table>/day=2026-11-23/<commit>.parquet
    <lake>/manifest/<commit>.json
    <lake>/warehouse.duckdb

A commit is one small immutable JSON file, put in a single step after all its data files are whole,
and only if no other has its name: else it is put under another name. Readers take only files that a
commit names. So a reader sees all of a publish or nothing of it, and a writer that is killed leaves
files that nobody names; `compact` sweeps them later. No locks are needed, and nothing is ever
changed in place, but for the database of the last build, which is replaced in one step.

A row's identity is its content: `row_id` is a hash over what the row says, not over where it was
read. Publishing drops rows that the lake already has, so whatever ran twice adds nothing. Two
writers that publish the same row at the same moment may both keep it; readers therefore take one
row per row_id (staging does), and `compact` removes the copy.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from goodput import rows
from goodput.contract import raw_table
from goodput.errors import GoodputError, NoData, SourceUnreachable
from goodput.lakefiles import MANIFEST, LakeFiles, StoredFile, open_files
from goodput.warehouse.connection import connect
from goodput.warehouse.rawviews import raw_view_sql

NO_DAY = "none"
"""The day partition of rows without a time."""

_VERSION = 1
_LIST_ATTEMPTS = 5
_NAME_ATTEMPTS = 5


@dataclass(frozen=True)
class LakeFile:
    """One data file as a commit names it; `path` is relative to the lake."""

    path: str
    table: str
    day: str
    rows: int
    bytes: int
    run_id: str


@dataclass(frozen=True)
class Commit:
    """One entry of the manifest.

    Attributes:
        files: data files that this commit adds.
        replaces: path to instant (RFC 3339) of files that stopped counting; `files` has their rows.
        folds: names of older commits that this one restates whole.
    """

    name: str
    run_id: str
    created_at: str
    files: tuple[LakeFile, ...]
    replaces: Mapping[str, str] = field(default_factory=dict)
    folds: tuple[str, ...] = ()

    def to_json(self) -> bytes:
        """The manifest file's bytes."""
        document = {
            "version": _VERSION,
            "run_id": self.run_id,
            "created_at": self.created_at,
            "files": [vars(file) for file in self.files],
            "replaces": dict(self.replaces),
            "folds": list(self.folds),
        }
        return json.dumps(document, indent=1).encode()

    @classmethod
    def from_json(cls, name: str, content: bytes) -> Commit:
        """Reads a manifest file.

        Raises:
            GoodputError: it is no manifest, or one of a later version of goodput.
        """
        try:
            document = json.loads(content)
            if document["version"] > _VERSION:
                raise GoodputError(
                    f"manifest/{name}.json was written by a later goodput; upgrade this one"
                )
            return cls(
                name=name,
                run_id=document["run_id"],
                created_at=document["created_at"],
                files=tuple(LakeFile(**entry) for entry in document["files"]),
                replaces=document["replaces"],
                folds=tuple(document["folds"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise GoodputError(
                f"manifest/{name}.json is damaged ({error}); restore it from a backup"
            ) from None


@dataclass(frozen=True)
class Snapshot:
    """What counts in the lake at one moment."""

    place: LakeFiles
    commits: tuple[Commit, ...]
    entries: tuple[LakeFile, ...]

    def files(self, table: str, days: Collection[str] | None = None) -> list[str]:
        """The paths of a table's files on this machine, in a stable order.

        Args:
            days: only of these partitions; None means of all.

        Raises:
            GoodputError: a file was swept since, or is missing.
            SourceUnreachable: the lake's place does not answer.
        """
        sizes = {
            entry.path: entry.bytes
            for entry in self.entries
            if entry.table == table and (days is None or entry.day in days)
        }
        try:
            return [str(path) for path in self.place.fetch(sizes)]
        except FileNotFoundError as error:
            raise GoodputError(
                f"a file of raw.{table} went from {self.place.name} since the manifest was read"
                f" ({error}); run it again"
            ) from None

    def ask(
        self,
        table: str,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        days: Collection[str] | None = None,
    ) -> list[dict[str, Any]]:
        """The rows that a query finds in raw.<table>, by column.

        Args:
            days: only of these partitions; None means of all.
        """
        files = self.files(table, days)
        with connect() as con:
            con.execute("create schema raw")
            con.execute(raw_view_sql(raw_table(table), files))
            found = con.execute(query, parameters)
            names = [column[0] for column in found.description]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def rows(self, tables: Iterable[str]) -> int:
        """How many rows some tables have together."""
        return sum(entry.rows for entry in self.entries if entry.table in tables)

    @property
    def tables(self) -> list[str]:
        """The tables that have rows."""
        return sorted({entry.table for entry in self.entries})


@dataclass(frozen=True)
class Published:
    """What a publish did: rows that were new, by table, and rows it was given."""

    run_id: str
    rows_added: dict[str, int]
    rows_given: dict[str, int]


@dataclass(frozen=True)
class Compacted:
    """What a compaction did."""

    files_before: int
    files_after: int
    files_removed: int
    duplicate_rows: int


def new_run_id(now: datetime | None = None) -> str:
    """A name that sorts by time and that no other run has."""
    stamp = (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%S%f")[:-3]
    return f"{stamp}Z-{secrets.token_hex(4)}"


class Lake:
    """Raw rows in Parquet under one folder or object-store prefix.

    Attributes:
        url: where it is, as it may be shown and stored.
        local_root: the folder on this machine below which what was read of it lies.
    """

    def __init__(self, place: LakeFiles) -> None:
        self.url = place.name
        self.local_root = place.local_root
        self._place = place

    @classmethod
    def open(cls, url: str | Path, create: bool = False) -> Lake:
        """The lake at a local path or an address such as file:///data/lake or s3://bucket/prefix.

        Args:
            create: make it if it is not there yet.

        Raises:
            UsageError: no such kind of address.
            NoData: there is no lake, and `create` was not asked for.
            SourceUnreachable: the place cannot be reached.
        """
        lake = cls(open_files(str(url)))
        try:
            if create:
                lake._place.make()
            elif not lake._place.exists():
                raise NoData(
                    f"there is no lake at {lake.url}; make one: `goodput import` or"
                    " `goodput collect`"
                )
        except OSError as error:
            raise SourceUnreachable(f"the lake {lake.url} cannot be reached: {error}") from None
        return lake

    @property
    def raw_root(self) -> str:
        """The folder on this machine that holds every data file that was read."""
        return str(self.local_root / "raw")

    def built_warehouse(self) -> Path | None:
        """The DuckDB file of the last build, on this machine; None if nothing has been built.

        Raises:
            SourceUnreachable: the lake's place does not answer.
        """
        return self._place.built_warehouse()

    def install_warehouse(self, built: Path) -> Path:
        """Makes a DuckDB file below local_root the last build; gives where it lies now.

        Raises:
            SourceUnreachable: the lake's place does not answer.
        """
        return self._place.install_warehouse(built)

    def is_writable(self) -> bool:
        """Whether this process could publish: tried by writing a file and deleting it."""
        probe = f"{MANIFEST}/.probe-{secrets.token_hex(4)}.tmp"
        try:
            self._put(probe, b"")
            self._delete(probe)
        except (OSError, SourceUnreachable):
            return False
        return True

    def snapshot(self) -> Snapshot:
        """What counts now. Take one and keep it for a consistent view of several tables."""
        for _ in range(_LIST_ATTEMPTS):
            try:
                snapshot = _snapshot(self._place, self._read_commits())
            except FileNotFoundError:
                continue  # a compaction folded a commit between listing and reading: list again
            live = {entry.path for entry in snapshot.entries}
            self._place.forget(live | {_manifest_path(commit.name) for commit in snapshot.commits})
            return snapshot
        raise GoodputError(f"the manifest of {self.url} keeps changing; try again")

    def files(self, table: str) -> list[str]:
        """The paths on this machine of the files that make up a raw table now."""
        return self.snapshot().files(table)

    def ask(
        self, table: str, query: str, parameters: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """The rows that a query finds in raw.<table> now, by column."""
        return self.snapshot().ask(table, query, parameters)

    def publish(
        self,
        tables: Mapping[str, Any],
        *,
        ingested_from: str,
        ingested_at: datetime | None,
        run_id: str | None = None,
        con: duckdb.DuckDBPyConnection | None = None,
    ) -> Published:
        """Adds the rows that the lake does not have yet, all of them or none.

        Args:
            tables: rows by raw table, each a frame or the name of a table in `con`; columns may be
                missing (NULL) or in any order. A row may bring its own ingested_at, which then is
                part of what it says.
            ingested_from: what the rows were read from, for rows that do not say.
            ingested_at: knowledge time of rows that do not say; None means known from the start.
            run_id: one name for several publishes of a run.
            con: a session as `connect` gives it; None takes one of its own.

        Raises:
            GoodputError: a table or column that the contract does not have, or a wrong type.
        """
        if con is None:
            with connect() as con:  # noqa: PLR1704 - it stands for the missing one
                return self.publish(
                    tables,
                    ingested_from=ingested_from,
                    ingested_at=ingested_at,
                    run_id=run_id,
                    con=con,
                )
        run = run_id or new_run_id()
        commit_name = run if run_id is None else f"{run}-{secrets.token_hex(4)}"
        snapshot = self.snapshot()
        files: list[LakeFile] = []
        given: dict[str, int] = {}
        for table, source in tables.items():
            given[table] = rows.arrive(
                con,
                table,
                source,
                ingested_from=ingested_from,
                ingested_at=ingested_at,
                run_id=run,
            )
            days = rows.arriving_days(con, NO_DAY)
            rows.forget_known(con, snapshot.files(table, days))
            files += self._write(con, commit_name, table, run)
            rows.let_go(con)
        if files:
            self._commit(Commit(commit_name, run, _now_text(), tuple(files)))
        added = {table: sum(file.rows for file in files if file.table == table) for table in tables}
        return Published(run, added, given)

    def compact(
        self, *, today: date | None = None, keep: timedelta = timedelta(hours=24)
    ) -> Compacted:
        """Merges the files of each closed day, folds the manifest and sweeps what nobody reads.

        Args:
            today: the first day that is still open; None means today in UTC.
            keep: how long a file that stopped counting stays for readers who still use it.
        """
        snapshot = self.snapshot()
        today_text = (today or datetime.now(UTC).date()).isoformat()
        name = new_run_id()
        merged, replaced, duplicates = self._merge_closed_days(snapshot, today_text, name)
        live = [entry for entry in snapshot.entries if entry.path not in replaced] + merged
        if merged or len(snapshot.commits) > 1:
            self._fold(snapshot, name, live, replaced)
        return Compacted(
            files_before=len(snapshot.entries),
            files_after=len(live),
            files_removed=self._sweep(datetime.now(UTC) - keep),
            duplicate_rows=duplicates,
        )

    # ---------------------------------------------------------------- reading

    def _list(self, folder: str) -> list[StoredFile]:
        return self._place.listing(folder)

    def _read_commits(self) -> list[Commit]:
        sizes = {
            file.path: file.size
            for file in self._list(MANIFEST)
            if file.path.endswith(".json") and "/." not in file.path
        }
        paths = sorted(self._place.fetch(sizes), key=lambda path: path.stem)
        return [Commit.from_json(path.stem, path.read_bytes()) for path in paths]

    # ---------------------------------------------------------------- writing

    def _write(
        self, con: duckdb.DuckDBPyConnection, commit_name: str, table: str, run_id: str
    ) -> Iterator[LakeFile]:
        """Puts what arrived in the session into files, one a day."""
        for day in rows.arriving_days(con, NO_DAY):
            with tempfile.TemporaryDirectory() as scratch:
                file = Path(scratch) / "rows.parquet"
                count = rows.write_day(con, table, day, NO_DAY, file)
                content = file.read_bytes()
            path = f"raw/{table}/day={day}/{commit_name}.parquet"
            self._put(path, content)
            yield LakeFile(path, table, day, count, len(content), run_id)

    def _put(self, path: str, content: bytes) -> None:
        self._place.create(path, content)

    def _commit(self, commit: Commit) -> None:
        """Makes a commit visible in one step, under another name if its own is taken."""
        for _ in range(_NAME_ATTEMPTS):
            try:
                self._put(_manifest_path(commit.name), commit.to_json())
            except FileExistsError:
                commit = replace(commit, name=f"{commit.run_id}-{secrets.token_hex(4)}")
            else:
                return
        raise GoodputError(f"the manifest of {self.url} takes no commit; check who writes to it")

    def _merge_closed_days(
        self, snapshot: Snapshot, today: str, name: str
    ) -> tuple[list[LakeFile], set[str], int]:
        groups: dict[tuple[str, str], list[LakeFile]] = {}
        for entry in snapshot.entries:
            groups.setdefault((entry.table, entry.day), []).append(entry)
        merged: list[LakeFile] = []
        replaced: set[str] = set()
        duplicates = 0
        for (table, day), entries in sorted(groups.items()):
            if len(entries) < 2 or (day != NO_DAY and day >= today):
                continue
            with connect() as con:
                files = self._place.fetch({entry.path: entry.bytes for entry in entries})
                count = rows.arrive_again(con, table, [str(file) for file in files])
                written = list(self._write(con, name, table, name))
            duplicates += count - sum(file.rows for file in written)
            merged += written
            replaced |= {entry.path for entry in entries}
        return merged, replaced, duplicates

    def _fold(
        self, snapshot: Snapshot, name: str, live: Iterable[LakeFile], replaced: set[str]
    ) -> None:
        """Restates the whole manifest in one commit, then removes the commits it restates."""
        earlier = {path: at for commit in snapshot.commits for path, at in commit.replaces.items()}
        now = _now_text()
        folded = tuple(commit.name for commit in snapshot.commits)
        self._commit(
            Commit(
                name=name,
                run_id=name,
                created_at=now,
                files=tuple(sorted(live, key=lambda entry: entry.path)),
                replaces={**earlier, **dict.fromkeys(sorted(replaced), now)},
                folds=folded,
            )
        )
        for commit in folded:
            self._delete(_manifest_path(commit))

    def _sweep(self, before: datetime) -> int:
        """Deletes data files that do not count, if they stopped counting or were left before."""
        snapshot = self.snapshot()
        live = {entry.path for entry in snapshot.entries}
        replaced = {path: at for commit in snapshot.commits for path, at in commit.replaces.items()}
        removed = 0
        for file in self._list("raw") + self._list(MANIFEST):
            if file.path in live or file.path.endswith(".json"):
                continue
            since = file.written_at
            if file.path in replaced:
                since = datetime.fromisoformat(replaced[file.path])
            if since < before:
                self._delete(file.path)
                removed += 1
        return removed

    def _delete(self, path: str) -> None:
        self._place.delete(path)


def _manifest_path(name: str) -> str:
    return f"{MANIFEST}/{name}.json"


def _snapshot(place: LakeFiles, commits: list[Commit]) -> Snapshot:
    folded = {name for commit in commits for name in commit.folds}
    current = tuple(commit for commit in commits if commit.name not in folded)
    dead = {path for commit in current for path in commit.replaces}
    live = {file.path: file for commit in current for file in commit.files if file.path not in dead}
    return Snapshot(place, current, tuple(live[path] for path in sorted(live)))


def _now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
