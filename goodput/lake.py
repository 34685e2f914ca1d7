"""The lake: raw rows as Parquet files, and a log of commits that says which files count.

Layout, under any folder or object store that pyarrow.fs can reach:

    <lake>/raw/<table>/day=2026-11-23/<commit>.parquet
    <lake>/manifest/<commit>.json

A commit is one small immutable JSON file, put in a single step after all its data files are whole.
Readers take only files that a commit names. So a reader sees all of a publish or nothing of it, and
a writer that is killed leaves files that nobody names; `compact` sweeps them later. No locks are
needed, and nothing is ever changed in place.

A row's identity is its content: `row_id` is a hash over what the row says, not over where it was
read. Publishing drops rows that the lake already has, so whatever ran twice adds nothing. Two
writers that publish the same row at the same moment may both keep it; readers therefore take one
row per row_id (staging does), and `compact` removes the copy.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs as pafs

from goodput.errors import GoodputError, NoData, SourceUnreachable

if TYPE_CHECKING:
    import polars as pl

NO_DAY = "none"
"""The day partition of rows without a time."""

_VERSION = 1
_LIST_ATTEMPTS = 5


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

    root: str
    commits: tuple[Commit, ...]
    entries: tuple[LakeFile, ...]

    def files(self, table: str) -> list[str]:
        """The full paths of a table's files, in a stable order."""
        return [f"{self.root}/{entry.path}" for entry in self.entries if entry.table == table]

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
    """Raw rows in Parquet under one folder or object-store prefix."""

    def __init__(self, url: str, filesystem: pafs.FileSystem, root: str, *, is_local: bool) -> None:
        self.url = url
        self.root = root
        self.is_local = is_local
        self._fs = filesystem

    @classmethod
    def open(cls, url: str | Path, create: bool = False) -> Lake:
        """The lake at a local path or a URL such as file:///data/lake or s3://bucket/prefix.

        Args:
            create: make it if it is not there yet.

        Raises:
            NoData: there is no lake, and `create` was not asked for.
            SourceUnreachable: the place cannot be reached.
        """
        text = str(url)
        try:
            if "://" in text:
                filesystem, root = pafs.FileSystem.from_uri(text)
            else:
                filesystem, root = pafs.LocalFileSystem(), str(Path(text).absolute())
            lake = cls(text, filesystem, root.rstrip("/"), is_local=filesystem.type_name == "local")
            if create:
                filesystem.create_dir(f"{lake.root}/manifest", recursive=True)
            elif not lake._exists():
                raise NoData(
                    f"there is no lake at {text}; make one: `goodput import` or `goodput collect`"
                )
        except (OSError, pa.ArrowException) as error:
            raise SourceUnreachable(f"the lake {text} cannot be reached: {error}") from None
        return lake

    @property
    def warehouse_path(self) -> Path:
        """The DuckDB file that a build makes: in a local lake, else in the user's cache."""
        if self.is_local:
            return Path(self.root) / "warehouse.duckdb"
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return (
            cache / "goodput" / self.url.replace("://", "-").replace("/", "-") / "warehouse.duckdb"
        )

    @property
    def raw_root(self) -> str:
        """The folder that holds every data file."""
        return f"{self.root}/raw"

    def is_writable(self) -> bool:
        """Whether this process could publish: tried by writing a file and deleting it."""
        probe = f"manifest/.probe-{secrets.token_hex(4)}.tmp"
        try:
            self._put(probe, b"")
            self._fs.delete_file(f"{self.root}/{probe}")
        except OSError:
            return False
        return True

    def snapshot(self) -> Snapshot:
        """What counts now. Take one and keep it for a consistent view of several tables."""
        for _ in range(_LIST_ATTEMPTS):
            try:
                return _snapshot(self.root, self._read_commits())
            except FileNotFoundError:
                continue  # a compaction folded a commit between listing and reading: list again
        raise GoodputError(f"the manifest of {self.url} keeps changing; try again")

    def files(self, table: str) -> list[str]:
        """The full paths of the files that make up a raw table now."""
        return self.snapshot().files(table)

    def read(self, table: str, columns: Sequence[str]) -> pa.Table:
        """Some columns of all rows of a raw table; a column that a file has not yet is left out."""
        snapshot = self.snapshot()
        parts = [
            self._read(entry.path, list(columns))
            for entry in snapshot.entries
            if entry.table == table
        ]
        return pa.concat_tables(parts, promote_options="default") if parts else pa.table({})

    def publish(
        self,
        tables: Mapping[str, pl.DataFrame],
        *,
        ingested_from: str,
        ingested_at: datetime | None,
        run_id: str | None = None,
    ) -> Published:
        """Adds the rows that the lake does not have yet, all of them or none.

        Args:
            tables: rows by raw table; columns may be missing (NULL) or in any order. A row may
                bring its own ingested_at, which then is part of what it says.
            ingested_from: what the rows were read from, for rows that do not say.
            ingested_at: knowledge time of rows that do not say; None means known from the start.
            run_id: one name for several publishes of a run.

        Raises:
            GoodputError: a table or column that the contract does not have, or a wrong type.
        """
        from goodput import rows  # brings Polars, which only writers need

        run = run_id or new_run_id()
        commit_name = run if run_id is None else f"{run}-{secrets.token_hex(4)}"
        snapshot = self.snapshot()
        files: list[LakeFile] = []
        added: dict[str, int] = {}
        with duckdb.connect() as con:
            for table, frame in tables.items():
                given = rows.with_row_ids(con, table, frame)
                days = set(rows.days_of(table, given, NO_DAY))
                fresh = rows.without(given, self._row_ids(snapshot, table, days))
                fresh = rows.with_provenance(fresh, ingested_from, ingested_at, run)
                files += self._write(commit_name, table, fresh, run)
                added[table] = fresh.height
        if files:
            self._commit(Commit(commit_name, run, _now_text(), tuple(files)))
        return Published(run, added, {table: frame.height for table, frame in tables.items()})

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

    def _exists(self) -> bool:
        (info,) = self._fs.get_file_info([f"{self.root}/manifest"])
        return bool(info.type == pafs.FileType.Directory)

    def _list(self, folder: str, recursive: bool = False) -> list[pafs.FileInfo]:
        selector = pafs.FileSelector(
            f"{self.root}/{folder}", recursive=recursive, allow_not_found=True
        )
        return [info for info in self._fs.get_file_info(selector) if info.is_file]

    def _read_commits(self) -> list[Commit]:
        names = sorted(
            info.base_name.removesuffix(".json")
            for info in self._list("manifest")
            if info.base_name.endswith(".json") and not info.base_name.startswith(".")
        )
        commits = []
        for name in names:
            with self._fs.open_input_stream(self._manifest_path(name)) as stream:
                commits.append(Commit.from_json(name, stream.read()))
        return commits

    def _manifest_path(self, name: str) -> str:
        return f"{self.root}/manifest/{name}.json"

    def _read(self, path: str, columns: list[str] | None = None) -> pa.Table:
        with self._fs.open_input_file(f"{self.root}/{path}") as source:
            return pq.ParquetFile(source).read(columns=columns)

    def _row_ids(self, snapshot: Snapshot, table: str, days: set[str]) -> list[pa.ChunkedArray]:
        """The row ids that the lake has on some days of a table."""
        return [
            self._read(entry.path, ["row_id"])["row_id"]
            for entry in snapshot.entries
            if entry.table == table and entry.day in days
        ]

    # ---------------------------------------------------------------- writing

    def _write(
        self, commit_name: str, table: str, frame: pl.DataFrame, run_id: str
    ) -> Iterator[LakeFile]:
        from goodput import rows

        for day, part in rows.by_day(table, frame, NO_DAY):
            content = rows.to_parquet(part)
            path = f"raw/{table}/day={day}/{commit_name}.parquet"
            self._put(path, content)
            yield LakeFile(path, table, day, part.height, len(content), run_id)

    def _put(self, path: str, content: bytes | pa.Buffer) -> None:
        """Writes one whole file, durably where the store leaves that to us."""
        full = f"{self.root}/{path}"
        if not self.is_local:
            with self._fs.open_output_stream(full) as stream:
                stream.write(content)
            return
        Path(full).parent.mkdir(parents=True, exist_ok=True)
        with Path(full).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _commit(self, commit: Commit) -> None:
        """Makes a commit visible in one step: a rename locally, a put on an object store."""
        path = f"manifest/{commit.name}.json"
        if not self.is_local:
            self._put(path, commit.to_json())
            return
        scratch = f"manifest/.{commit.name}.tmp"
        self._put(scratch, commit.to_json())
        Path(f"{self.root}/{scratch}").replace(f"{self.root}/{path}")

    def _merge_closed_days(
        self, snapshot: Snapshot, today: str, name: str
    ) -> tuple[list[LakeFile], set[str], int]:
        from goodput import rows

        groups: dict[tuple[str, str], list[LakeFile]] = {}
        for entry in snapshot.entries:
            groups.setdefault((entry.table, entry.day), []).append(entry)
        merged: list[LakeFile] = []
        replaced: set[str] = set()
        duplicates = 0
        for (table, day), entries in sorted(groups.items()):
            if len(entries) < 2 or (day != NO_DAY and day >= today):
                continue
            frame, copies = rows.first_known(table, [self._read(entry.path) for entry in entries])
            duplicates += copies
            merged += self._write(name, table, frame, name)
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
            self._delete(self._manifest_path(commit))

    def _sweep(self, before: datetime) -> int:
        """Deletes data files that do not count, if they stopped counting or were left before."""
        snapshot = self.snapshot()
        live = {entry.path for entry in snapshot.entries}
        replaced = {path: at for commit in snapshot.commits for path, at in commit.replaces.items()}
        removed = 0
        for info in self._list("raw", recursive=True) + self._list("manifest"):
            path = info.path[len(self.root) + 1 :]
            if path in live or path.endswith(".json"):
                continue
            since = datetime.fromisoformat(replaced[path]) if path in replaced else info.mtime
            if since is not None and since < before:
                self._delete(info.path)
                removed += 1
        return removed

    def _delete(self, path: str) -> None:
        with suppress(FileNotFoundError):  # another compaction may have been faster
            self._fs.delete_file(path)


def _snapshot(root: str, commits: list[Commit]) -> Snapshot:
    folded = {name for commit in commits for name in commit.folds}
    current = tuple(commit for commit in commits if commit.name not in folded)
    dead = {path for commit in current for path in commit.replaces}
    live = {file.path: file for commit in current for file in commit.files if file.path not in dead}
    return Snapshot(root, current, tuple(live[path] for path in sorted(live)))


def _now_text() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
