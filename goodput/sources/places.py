"""Where files lie: local folders, NFS and object stores, listed and read.

A place is a path or an address such as s3://bucket/prefix; goodput.stores reaches the latter.
"""

from __future__ import annotations

import glob
import os
import stat
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import IO

from goodput._files import local_path, path_text
from goodput.errors import NoData, SourceUnreachable
from goodput.stores import Item, ObjectStore

# In an address a question mark begins its options.
_LOCAL_WILD = frozenset("*?[")
_REMOTE_WILD = frozenset("*[")


@dataclass(frozen=True, slots=True)
class Stored:
    """A file or folder in a place.

    Attributes:
        name: what rows call it: its path, or scheme://bucket/key.
        path: what its file system calls it.
        size: bytes; None for a folder.
        written_at: last write, to the millisecond.
    """

    name: str
    path: str
    size: int | None
    written_at: datetime | None

    @property
    def is_directory(self) -> bool:
        """Whether it is a folder."""
        return self.size is None


@dataclass(frozen=True, slots=True)
class Flaw:
    """A file or folder that could not be listed, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True)
class Listing:
    """What a place holds, in the order of names; `flaws` says what could not be listed."""

    entries: list[Stored]
    flaws: list[Flaw] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """A file or folder to begin at, or an object store's prefix."""

    name: str
    path: str
    store: ObjectStore | None = None
    pattern: tuple[str, ...] = ()
    is_part: bool = False

    @property
    def root(self) -> str:
        """Its name with the pattern."""
        return "/".join((path_text(self.name), *self.pattern))

    @classmethod
    def open(cls, text: str) -> Place:
        """The place that a path or an address names; the address may hold wildcards.

        Raises:
            UsageError: no such kind of address, or one that cannot be understood.
        """
        path = local_path(text)
        if path is not None:
            path = path.rstrip("/") or "/"
            return cls(path, path)
        where, mark, options = text.partition("?")
        fixed, pattern = _split_pattern(where)
        store = ObjectStore.open(f"{fixed}{mark}{options}")
        return cls(store.name, store.prefix, store, pattern)

    def listing(self) -> Listing:
        """Everything below, or the file itself; hidden folders (.git, .snapshot) are left out.

        Raises:
            NoData: there is no such file or folder.
            SourceUnreachable: the store does not answer, or refuses.
        """
        try:
            return self._remote(self.store) if self.store else self._local()
        except FileNotFoundError:
            raise NoData(f"there is no file or folder {self.name}; check the path") from None
        except OSError as error:
            raise SourceUnreachable(f"{self.name} cannot be listed: {error}") from None

    def read(self, stored: Stored) -> IO[bytes]:
        """A stream over the bytes of a file as they are stored, packed or not.

        Raises:
            OSError: it cannot be opened; reading may raise it, too.
        """
        if self.store:
            return self.store.stream(stored.path, stored.size or 0)
        return _opened(stored.path)

    def read_at(self, stored: Stored, offset: int, size: int) -> bytes:
        """Some bytes of a file, fewer at its end.

        Raises:
            OSError: it cannot be read.
        """
        if self.store:
            return self.store.read(stored.path, offset, size)
        with _opened(stored.path) as file:
            file.seek(offset)
            return file.read(size)

    def _local(self) -> Listing:
        info = os.stat(self.path)  # noqa: PTH116 - names need not be text
        listing = Listing([])
        if stat.S_ISDIR(info.st_mode):
            listing.entries.extend(_walk(self.path, listing.flaws))
        elif stat.S_ISREG(info.st_mode):
            listing.entries.append(_local_file(self.path, info))
        return listing

    def _remote(self, store: ObjectStore) -> Listing:
        items, flaws = store.listing(self.path)
        if not items and not flaws and self.path:
            here = store.head(self.path)
            if here is None:
                raise FileNotFoundError
            return Listing([self._stored(here)])
        paths = [item.path for item in items]
        files = [item for item in items if item.size or not _is_folder(item.path, paths)]
        entries = [self._stored(item) for item in files if self._is_wanted(item.path)]
        return Listing(entries, [Flaw(self.name, flaw) for flaw in flaws])

    def _stored(self, item: Item) -> Stored:
        below = item.path.removeprefix(self.path).strip("/")
        name = f"{self.name}/{below}" if below else self.name
        written = item.written_at.replace(microsecond=item.written_at.microsecond // 1000 * 1000)
        return Stored(name, item.path, item.size, written)

    def _is_wanted(self, path: str) -> bool:
        parts = path.removeprefix(self.path).strip("/").split("/")
        hidden = any(part.startswith(".") for part in parts[:-1])
        return not hidden and _matches(parts, self.pattern)


def places(text: str) -> list[Place]:
    """The places that a path, an address or a pattern with wildcards names.

    Raises:
        NoData: no local file has a name like that.
        UsageError: as `Place.open`.
    """
    path = local_path(text)
    if path is None or not _LOCAL_WILD & set(path) or os.path.lexists(path):
        return [Place.open(text)]
    if not (paths := sorted(glob.glob(path, recursive=True))):  # noqa: PTH207 - paths as given
        raise NoData(f"no file or folder has a name like {text}; check the pattern")
    return [Place.open(path) for path in paths]


def _split_pattern(where: str) -> tuple[str, tuple[str, ...]]:
    """The part of an address before the first name with a wildcard, and the names from there on."""
    parts = where.split("/")
    wild = next((n for n, part in enumerate(parts) if _REMOTE_WILD & set(part)), len(parts))
    return "/".join(parts[:wild]), tuple(parts[wild:])


def _is_folder(path: str, paths: list[str]) -> bool:
    """Whether others of the sorted paths lie below: consoles put empty objects for folders."""
    below = f"{path}/"
    position = bisect_left(paths, below)
    return position < len(paths) and paths[position].startswith(below)


def _matches(parts: list[str], pattern: tuple[str, ...]) -> bool:
    """Whether a path, or a folder above it, is like the pattern; `**` stands for any folders."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(_matches(parts[skip:], pattern[1:]) for skip in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _opened(path: str) -> IO[bytes]:
    """A local file to read; opening a pipe that took its place would wait for a writer forever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is no file any more")
    return os.fdopen(descriptor, "rb")


def _walk(folder: str, flaws: list[Flaw]) -> Iterator[Stored]:
    """What is below a folder, in the order of names; links to folders are not followed."""
    # Not by recursion: a job may nest folders deeper than that goes.
    levels = [_scanned(folder, flaws)]
    while levels:
        entry = next(levels[-1], None)
        if entry is None:
            levels.pop()
            continue
        try:
            info = entry.stat()
        except FileNotFoundError:  # it went since the folder was read, or is a link to nothing
            continue
        except OSError as error:
            flaws.append(Flaw(path_text(entry.path), str(error.strerror)))
            continue
        if stat.S_ISREG(info.st_mode):
            yield _local_file(entry.path, info)
        elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield Stored(path_text(entry.path), entry.path, None, _instant(info.st_mtime_ns))
            levels.append(_scanned(entry.path, flaws))


def _scanned(folder: str, flaws: list[Flaw]) -> Iterator[os.DirEntry[str]]:
    """The entries of a folder in the order of names; none if it cannot be listed."""
    try:
        with os.scandir(folder) as scan:
            return iter(sorted(scan, key=lambda entry: entry.name))
    except OSError as error:
        flaws.append(Flaw(path_text(folder), str(error.strerror)))
        return iter(())


def _local_file(path: str, info: os.stat_result) -> Stored:
    return Stored(path_text(path), path, info.st_size, _instant(info.st_mtime_ns))


def _instant(nanoseconds: int) -> datetime:
    seconds, rest = divmod(nanoseconds // 1_000_000, 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)
