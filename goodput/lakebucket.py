"""A lake below a prefix of an object store, with a cache on this machine."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from goodput.errors import GoodputError, SourceUnreachable
from goodput.lakefiles import MANIFEST, WAREHOUSE, StoredFile
from goodput.stores import ObjectChanged, ObjectStore

_MARK = f"{MANIFEST}/.lake"
_READERS = 16
_STALE_SECONDS = 24 * 3600
_FETCHES = 5


class Bucket:
    """A lake below a prefix of an object store, and copies of what was read of it.

    Each build's database is one object. A copy of it is named after the object's version, so that
    a name never stands for two builds.
    """

    def __init__(self, store: ObjectStore, address: str) -> None:
        self.name = store.name
        self.local_root = _cache_root() / _folder_name(store.name, address)
        self._store = store

    @classmethod
    def open(cls, text: str) -> Bucket:
        """The lake at an address; nothing is sent yet.

        Raises:
            UsageError: no such kind of address.
        """
        return cls(ObjectStore.open(text), text)

    def exists(self) -> bool:
        """As LakeFiles says."""
        with self._reached():
            return self._store.head(self._key(_MARK)) is not None or bool(self.listing(MANIFEST))

    def make(self) -> None:
        """As LakeFiles says: a store has no empty folders, so an empty object stands for it."""
        with self._reached(), suppress(FileExistsError):
            self._store.create(self._key(_MARK), b"")

    def listing(self, folder: str) -> list[StoredFile]:
        """As LakeFiles says."""
        with self._reached():
            items, _ = self._store.listing(self._key(folder))
        start = len(self._key(""))
        found = [StoredFile(item.path[start:], item.size, item.written_at) for item in items]
        return [file for file in found if file.path != _MARK]

    def fetch(self, sizes: Mapping[str, int]) -> list[Path]:
        """As LakeFiles says."""
        absent = [path for path, size in sizes.items() if not self._has(path, size)]
        if absent:
            with ThreadPoolExecutor(_READERS) as pool:
                list(pool.map(lambda path: self._download(path, sizes[path]), absent))
        return [self.local_root / path for path in sizes]

    def create(self, path: str, content: bytes) -> None:
        """As LakeFiles says."""
        with self._reached():
            self._store.create(self._key(path), content)

    def delete(self, path: str) -> None:
        """As LakeFiles says."""
        with self._reached():
            self._store.delete(self._key(path))

    def forget(self, live: set[str]) -> None:
        """As LakeFiles says; for a day they stay, for readers that are still at work."""
        before = time.time() - _STALE_SECONDS
        for path in self.local_root.rglob("*"):
            name = path.relative_to(self.local_root).as_posix()
            with suppress(OSError):  # another process may let go of it, too
                if name not in live and path.is_file() and path.stat().st_mtime < before:
                    path.unlink()

    def install_warehouse(self, built: Path) -> Path:
        """As LakeFiles says."""
        with self._reached():
            version = self._store.replace(self._key(WAREHOUSE), built)
        return built.replace(self._copy_of(version))

    def built_warehouse(self) -> Path | None:
        """As LakeFiles says; it is fetched if another machine built it."""
        for _ in range(_FETCHES):
            with self._reached():
                item = self._store.head(self._key(WAREHOUSE))
            if item is None:
                return None
            copy = self._copy_of(item.version)
            with suppress(ObjectChanged, FileNotFoundError):
                if not self._has(copy.name, item.size):
                    self._arrive(WAREHOUSE, copy, item.size, item.version)
                os.utime(copy)  # in use: it may still be, a day from now
                return copy
        raise GoodputError(f"the last build of {self.name} keeps changing; try again")

    def _copy_of(self, version: str) -> Path:
        digest = hashlib.sha256(version.strip('"').encode()).hexdigest()[:12]
        return self.local_root / f"warehouse-{digest}.duckdb"

    def _key(self, path: str) -> str:
        return f"{self._store.prefix}/{path}" if self._store.prefix else path

    def _has(self, path: str, size: int) -> bool:
        try:
            return (self.local_root / path).stat().st_size == size
        except FileNotFoundError:
            return False

    def _download(self, path: str, size: int) -> None:
        target = self.local_root / path
        self._arrive(path, target, size)
        if target.stat().st_size != size:
            target.unlink()
            raise GoodputError(
                f"{path} in {self.name} is not as long as its manifest says; restore it from a"
                " backup"
            )

    def _arrive(self, path: str, target: Path, size: int, version: str | None = None) -> None:
        """Downloads a file beside its place and renames it into it when it is whole."""
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            with self._reached():
                self._store.download(self._key(path), scratch, size, version)
            scratch.replace(target)
        finally:
            scratch.unlink(missing_ok=True)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except (FileExistsError, FileNotFoundError, ObjectChanged):
            raise
        except OSError as error:
            raise SourceUnreachable(f"the lake {self.name} cannot be reached: {error}") from None


def _cache_root() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "goodput"


def _folder_name(name: str, address: str) -> str:
    """One folder a lake: two servers may have buckets of one name."""
    where = hashlib.sha256(address.rpartition("@")[2].encode()).hexdigest()[:8]
    readable = re.sub(r"[^\w.-]+", "-", name)
    return f"{readable}-{where}"
