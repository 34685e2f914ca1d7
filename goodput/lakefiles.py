"""Where a lake's files lie: in a folder, or below a prefix of an object store (goodput.lakebucket).

Both do the same few things. Paths are relative to the lake. Files are written once, under names
that no other writer takes, and never changed; so a copy of one, of the right size, is as good as
the original. That is what the cache of an object store is: DuckDB and Arrow read local files only.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from goodput._files import local_path

MANIFEST = "manifest"
WAREHOUSE = "warehouse.duckdb"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a lake."""

    path: str
    size: int
    written_at: datetime


class LakeFiles(Protocol):
    """What a lake needs of the place where it lies.

    Attributes:
        name: the place, as it may be shown and stored.
        local_root: the folder on this machine below which its files can be read.
    """

    name: str
    local_root: Path

    def exists(self) -> bool:
        """Whether there is a lake."""

    def make(self) -> None:
        """Makes an empty lake, if there is none."""

    def listing(self, folder: str) -> list[StoredFile]:
        """Everything below a folder, by path; nothing if it is not there."""

    def fetch(self, sizes: Mapping[str, int]) -> list[Path]:
        """Files on this machine, in the order given; by path, with their sizes.

        Raises:
            FileNotFoundError: one of them is no longer there.
        """

    def create(self, path: str, content: bytes) -> None:
        """Writes a new file, durably, that nobody sees before it is whole.

        Raises:
            FileExistsError: there is another one of that name; it is as it was.
        """

    def delete(self, path: str) -> None:
        """Deletes a file; one that is not there is fine."""

    def forget(self, live: set[str]) -> None:
        """Lets go of copies on this machine that stopped counting."""

    def install_warehouse(self, built: Path) -> Path:
        """Makes a database file below local_root the last build, for everybody at once.

        Returns:
            Where it lies now.
        """

    def built_warehouse(self) -> Path | None:
        """The database file of the last build by anybody; None if nothing has been built."""


class Folder:
    """A lake in a folder of this machine, NFS included."""

    def __init__(self, root: Path) -> None:
        self.name = str(root)
        self.local_root = root

    def exists(self) -> bool:
        """As LakeFiles says."""
        return (self.local_root / MANIFEST).is_dir()

    def make(self) -> None:
        """As LakeFiles says."""
        (self.local_root / MANIFEST).mkdir(parents=True, exist_ok=True)

    def listing(self, folder: str) -> list[StoredFile]:
        """As LakeFiles says."""
        found = []
        for path in sorted((self.local_root / folder).rglob("*")):
            with suppress(FileNotFoundError):  # it went since the folder was read
                info = path.stat()
                if stat.S_ISREG(info.st_mode):
                    written = datetime.fromtimestamp(info.st_mtime, UTC)
                    name = path.relative_to(self.local_root).as_posix()
                    found.append(StoredFile(name, info.st_size, written))
        return found

    def fetch(self, sizes: Mapping[str, int]) -> list[Path]:
        """As LakeFiles says."""
        return [self.local_root / path for path in sizes]

    def create(self, path: str, content: bytes) -> None:
        """As LakeFiles says."""
        target = self.local_root / path
        if target.exists():  # names are drawn at random: nobody takes one between here and there
            raise FileExistsError(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = target.with_name(f".{target.name}.tmp")
        with scratch.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(target)

    def delete(self, path: str) -> None:
        """As LakeFiles says."""
        (self.local_root / path).unlink(missing_ok=True)

    def forget(self, live: set[str]) -> None:
        """There are no copies."""

    def install_warehouse(self, built: Path) -> Path:
        """As LakeFiles says."""
        return built.replace(self.local_root / WAREHOUSE)

    def built_warehouse(self) -> Path | None:
        """As LakeFiles says."""
        path = self.local_root / WAREHOUSE
        return path if path.is_file() else None


def open_files(text: str) -> LakeFiles:
    """The files of the lake at a path or an address.

    Raises:
        UsageError: no such kind of address.
    """
    path = local_path(text)
    if path is not None:
        return Folder(Path(path).absolute())
    # What it needs is 5 MB that a lake on disk does without.
    from goodput.lakebucket import Bucket

    return Bucket.open(text)
