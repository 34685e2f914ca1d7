"""Where files lie: local folders, NFS and object stores, listed and read through pyarrow.fs.

A place is a path or an address such as s3://bucket/prefix. What its address says besides (keys,
endpoint, region) is used to reach it and never shown or stored.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

import pyarrow as pa
from pyarrow import fs as pafs

from goodput.errors import NoData, SourceUnreachable, UsageError

_STREAM_BYTES = 1 << 20
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


@dataclass(frozen=True)
class Listing:
    """What a place holds, in the order of names; `flaws` says what could not be listed."""

    entries: list[Stored]
    flaws: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """A file or folder to begin at, or an object store's prefix."""

    name: str
    path: str
    filesystem: pafs.FileSystem
    pattern: tuple[str, ...] = ()

    @classmethod
    def open(cls, text: str) -> Place:
        """The place that a path or an address names; the address may hold wildcards.

        Raises:
            UsageError: no such kind of address, or one that cannot be understood.
        """
        if "://" not in text:
            path = text.rstrip("/") or "/"
            return cls(path, path, pafs.LocalFileSystem())
        scheme, _, rest = text.partition("://")
        where, mark, options = rest.partition("?")
        fixed, pattern = _split_pattern(where)
        try:
            filesystem, path = pafs.FileSystem.from_uri(f"{scheme}://{fixed}{mark}{options}")
        except (OSError, ValueError, pa.ArrowException) as error:
            # The text of the error may repeat the address with its keys.
            raise UsageError(
                f"an address with {scheme}:// cannot be opened ({type(error).__name__}): check its"
                " form (s3://bucket/prefix, gs://, abfs://, file:///folder) and its options"
            ) from None
        path = path.rstrip("/") or "/"
        is_local = isinstance(filesystem, pafs.LocalFileSystem)
        return cls(path if is_local else f"{scheme}://{path}", path, filesystem, pattern)

    @property
    def is_local(self) -> bool:
        """Whether it is a folder or file of this machine, NFS included."""
        return isinstance(self.filesystem, pafs.LocalFileSystem)

    def listing(self) -> Listing:
        """Everything below, or the file itself; hidden folders (.git, .snapshot) are left out.

        Raises:
            NoData: there is no such file or folder.
            SourceUnreachable: the store does not answer, or refuses.
        """
        try:
            return self._local() if self.is_local else self._remote()
        except FileNotFoundError:
            raise NoData(f"there is no file or folder {self.name}; check the path") from None
        except (OSError, pa.ArrowException) as error:
            raise SourceUnreachable(f"{self.name} cannot be listed: {error}") from None

    def read(self, stored: Stored) -> IO[bytes]:
        """A stream over the bytes of a file as they are stored, packed or not.

        Raises:
            OSError: it cannot be opened; reading may raise it, too.
        """
        if self.is_local:
            return Path(stored.path).open("rb")
        stream: IO[bytes] = self.filesystem.open_input_stream(stored.path, None, _STREAM_BYTES)
        return stream

    def read_at(self, stored: Stored, offset: int, size: int) -> bytes:
        """Some bytes of a file, fewer at its end.

        Raises:
            OSError: it cannot be read.
        """
        if self.is_local:
            with Path(stored.path).open("rb") as file:
                file.seek(offset)
                return file.read(size)
        with self.filesystem.open_input_file(stored.path) as remote:
            return bytes(remote.read_at(size, offset))

    def _local(self) -> Listing:
        info = os.stat(self.path)  # noqa: PTH116 - names need not be text
        listing = Listing([])
        if stat.S_ISDIR(info.st_mode):
            listing.entries.extend(_walk(self.path, listing.flaws))
        elif stat.S_ISREG(info.st_mode):
            listing.entries.append(_local_file(self.path, info))
        return listing

    def _remote(self) -> Listing:
        (here,) = self.filesystem.get_file_info([self.path])
        if here.type == pafs.FileType.NotFound:
            raise FileNotFoundError
        infos = [here]
        if not here.is_file:
            infos = self.filesystem.get_file_info(pafs.FileSelector(self.path, recursive=True))
        entries = [self._stored(info) for info in infos if self._is_wanted(info.path)]
        return Listing(sorted(entries, key=lambda entry: entry.name))

    def _stored(self, info: pafs.FileInfo) -> Stored:
        name = f"{self.name}{info.path.removeprefix(self.path)}"
        written = None if info.mtime_ns is None else _instant(info.mtime_ns)
        return Stored(name, info.path, info.size if info.is_file else None, written)

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
    if "://" in text or not _LOCAL_WILD & set(text) or os.path.lexists(text):
        return [Place.open(text)]
    if not (paths := sorted(glob.glob(text, recursive=True))):  # noqa: PTH207 - paths as given
        raise NoData(f"no file or folder has a name like {text}; check the pattern")
    return [Place.open(path) for path in paths]


def _split_pattern(where: str) -> tuple[str, tuple[str, ...]]:
    """The part of an address before the first name with a wildcard, and the names from there on."""
    parts = where.split("/")
    wild = next((n for n, part in enumerate(parts) if _REMOTE_WILD & set(part)), len(parts))
    return "/".join(parts[:wild]), tuple(parts[wild:])


def _matches(parts: list[str], pattern: tuple[str, ...]) -> bool:
    """Whether a path, or a folder above it, is like the pattern; `**` stands for any folders."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(_matches(parts[skip:], pattern[1:]) for skip in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _walk(folder: str, flaws: list[str]) -> Iterator[Stored]:
    """What is below a folder, in the order of names; links to folders are not followed."""
    try:
        with os.scandir(folder) as scan:
            entries = sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        flaws.append(f"{_text(folder)}: {error.strerror}")
        return
    for entry in entries:
        try:
            info = entry.stat()
        except FileNotFoundError:  # it went since the folder was read, or is a link to nothing
            continue
        except OSError as error:
            flaws.append(f"{_text(entry.path)}: {error.strerror}")
            continue
        if stat.S_ISREG(info.st_mode):
            yield _local_file(entry.path, info)
        elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
            yield Stored(_text(entry.path), entry.path, None, _instant(info.st_mtime_ns))
            yield from _walk(entry.path, flaws)


def _local_file(path: str, info: os.stat_result) -> Stored:
    return Stored(_text(path), path, info.st_size, _instant(info.st_mtime_ns))


def _text(path: str) -> str:
    """A path as text, whatever bytes it has."""
    return os.fsencode(path).decode("utf-8", "replace")


def _instant(nanoseconds: int) -> datetime:
    seconds, rest = divmod(nanoseconds // 1_000_000, 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)
