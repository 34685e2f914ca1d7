"""Recognises any file that a user dumped and hands it to the reader that knows it.

Nothing a file holds raises: what cannot be used becomes a row of `quarantine` that says why, and
where it helps, which command writes something that can be read.
"""

from __future__ import annotations

import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from goodput._files import path_text
from goodput.errors import NoData
from goodput.logs import LogHints, read_log
from goodput.logs.unpacking import DAMAGE, skip_mark, unwrapped
from goodput.sources import checkpoint_listing, kernel_log, kube_files, trackers
from goodput.sources.artefact import Hints, Row, checked_hints, quarantine_row
from goodput.sources.kube_values import clean_text, format_instant

HEAD_BYTES = 64 << 10

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = bytes([*range(7), 14, 15, *range(16, 27), *range(28, 32)])
# Archives and tensors hold control bytes everywhere.
_BINARY_SHARE = 0.05

Tables = dict[str, Sequence[Row]]
Reader = Callable[[BinaryIO, Hints], Mapping[str, Sequence[Row]]]


@dataclass(frozen=True, slots=True)
class FileReport:
    """What one file was taken for, and how many rows of each table it gave."""

    file: str
    format: str
    rows: dict[str, int]


@dataclass(slots=True)
class Collected:
    """Rows by raw table, those that were refused under `quarantine`, and a report a file."""

    tables: dict[str, list[Row]] = field(default_factory=dict)
    files: list[FileReport] = field(default_factory=list)

    def add(self, report: FileReport, tables: Tables) -> None:
        """Takes in what one file gave."""
        self.files.append(report)
        for name, rows in tables.items():
            self.tables.setdefault(name, []).extend(rows)


@dataclass(frozen=True, slots=True)
class _Untakeable:
    """Text for human eyes that lost what the accounting needs."""

    what: str
    pattern: re.Pattern[bytes]
    remedy: str


_UNTAKEABLE = (
    _Untakeable(
        "`kubectl describe` text",
        re.compile(
            rb"^(?:[^\S\n]*Type[^\S\n]+Reason[^\S\n]+Age[^\S\n]+From"
            rb"|Type[^\S\n]+Status[^\S\n]+LastHeartbeatTime"
            rb"|[^\S\n]+Type[^\S\n]+Status[^\S\n]+LastHeartbeatTime"
            rb"|Name:[^\S\n]+\S[^\n]*\n(?:[^\n]*\n){0,4}?(?:Namespace|Roles|Labels):"
            rb"|Events:[^\S\n]*\n[^\S\n]*Type[^\S\n]+Reason)",
            re.MULTILINE,
        ),
        "its times are rounded or relative and its counters are folded: run `kubectl get nodes,pods"
        " -A -o json` and `kubectl get events -A -o json`",
    ),
    _Untakeable(
        "a table of events",
        re.compile(rb"^LAST SEEN[^\S\n]+(?:FIRST SEEN|TYPE|COUNT|REASON)", re.MULTILINE),
        "its times are relative to an unknown moment: run `kubectl get events -A -o json`",
    ),
    _Untakeable(
        "a `kubectl get` table",
        re.compile(
            rb"^(?:NAMESPACE[^\S\n]+)?NAME[^\S\n]+(?:[A-Z][A-Z0-9-]*(?: [A-Z]+)?[^\S\n]+)*"
            rb"(?:READY|STATUS|AGE|COMPLETIONS|VERSION)\b",
            re.MULTILINE,
        ),
        "it has neither identities nor times: run the same command with `-o json`",
    ),
)


def collect_dump(
    paths: Iterable[str | Path],
    *,
    cluster: str = "default",
    job: str | None = None,
    attempt: int | None = None,
    tz: str | None = None,
    now: datetime | None = None,
    more_hints: Hints | None = None,
) -> Collected:
    """Reads dumped files, and folders of them, into rows of raw tables.

    Args:
        paths: files or folders; folders are walked in the order of names.
        cluster: the cluster they come from.
        job: what the logs among them belong to, where they do not say.
        attempt: likewise.
        tz: IANA zone of times without one in logs.
        now: instants after it cannot have been observed; None means the clock.
        more_hints: what else the readers should know, see goodput.sources.artefact.

    Raises:
        NoData: a path that does not exist.
    """
    collected = Collected()
    for report, tables in collect_files(
        paths, cluster=cluster, job=job, attempt=attempt, tz=tz, now=now, more_hints=more_hints
    ):
        collected.add(report, tables)
    return collected


def collect_files(
    paths: Iterable[str | Path],
    *,
    cluster: str = "default",
    job: str | None = None,
    attempt: int | None = None,
    tz: str | None = None,
    now: datetime | None = None,
    more_hints: Hints | None = None,
) -> Iterator[tuple[FileReport, Tables]]:
    """As `collect_dump`, file by file, so that one file is in memory at a time.

    Raises:
        NoData: a path that does not exist.
        UsageError: a hint that no reader knows, or a value that is not of its kind.
    """
    given = {
        "cluster": cluster,
        "job": job,
        "attempt": None if attempt is None else str(attempt),
        "tz": tz,
        "now": format_instant(now) if now else None,
        **(more_hints or {}),
    }
    hints = checked_hints({name: value for name, value in given.items() if value is not None})
    for path in map(Path, paths):
        is_empty = True
        for file in _walk(path):
            is_empty = False
            yield _collect_file(file, {**hints, "file": path_text(file)})
        if is_empty:
            yield FileReport(path_text(path), "empty folder", {}), {}


def _walk(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise NoData(f"there is no file or folder {path}; check the path")
    if path.is_dir():
        yield from _files_below(path)
    else:
        yield path


def _files_below(path: Path) -> Iterator[Path]:
    """The files of a folder, and the folders in it that cannot be listed."""
    closed: list[Path] = []
    for folder, folders, names in os.walk(path, onerror=lambda e: closed.append(Path(e.filename))):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if not name.startswith(".") and file.is_file():
                yield file
    yield from closed


def _collect_file(path: Path, hints: Hints) -> tuple[FileReport, Tables]:
    try:
        with path.open("rb") as packed:
            unpacked = _Unpacked(packed)
            stream = io.BufferedReader(unpacked, HEAD_BYTES * 2)
            skip_mark(stream)
            name, tables = _dispatch(stream, hints["file"], hints)
            if unpacked.flaw:
                tables.pop("kube_lists", None)  # what was cut off may have been in them
                flaw = f"the compressed data are cut off or bad ({unpacked.flaw})"
                _refuse(tables, hints, f"{flaw}; what came before was read: copy the file again")
    except OSError as error:
        name, tables = "unreadable", {}
        _refuse(tables, hints, f"the file cannot be read: {error.strerror or error}")
    counts = Counter({table: len(rows) for table, rows in tables.items() if rows})
    return FileReport(hints["file"], name, dict(counts)), tables


def _dispatch(stream: io.BufferedReader[_Unpacked], file: str, hints: Hints) -> tuple[str, Tables]:
    head = stream.peek(HEAD_BYTES)[:HEAD_BYTES]
    if not head.strip() and len(head) < HEAD_BYTES:
        return _untaken("empty", hints, "the file is empty; dump it again")
    name = re.sub(r"\.(gz|zst)\Z", "", file)
    if is_mostly_binary(head) and not head.startswith(_UTF16):
        return _untaken("binary", hints, "binary bytes; only text, gzip and zstd are read")
    for untakeable in _UNTAKEABLE:
        if not _begins_as_json_object(head) and untakeable.pattern.search(head[:4096]):
            reason = f"{untakeable.what}: {untakeable.remedy}"
            return _untaken("kubectl text", hints, reason)
    for label, sniff, read in _READERS:
        if sniff(head, name):
            return label, dict(read(stream, hints))
    return "log", _as_log(stream, hints)


def _as_log(stream: BinaryIO, hints: Hints) -> Tables:
    texts = ("cluster", "tz", "job", "namespace", "pod", "pod_uid", "container", "node")
    numbers = ("year", "attempt", "rank")
    known: dict[str, Any] = {name: hints[name] for name in texts if name in hints}
    known |= {name: int(hints[name]) for name in numbers if name in hints}
    result = read_log(stream, LogHints(path=hints["file"], **known))
    tables: Tables = {**result.tables, "quarantine": result.quarantine}
    if not result.is_known_text:
        _refuse(tables, hints, NOTHING_FOUND)
    return tables


NOTHING_FOUND = (
    "no known step, checkpoint, phase or failure line in this text: if it is a training log,"
    " describe its lines in a format file, else leave it out"
)


_READERS: tuple[tuple[str, Callable[[bytes, str], bool], Reader], ...] = (
    ("tracker", trackers.sniff, trackers.read),
    ("kubernetes", kube_files.sniff, kube_files.read),
    ("checkpoint listing", checkpoint_listing.sniff, checkpoint_listing.read),
    ("kernel log", kernel_log.sniff, kernel_log.read),
)


def is_mostly_binary(head: bytes) -> bool:
    """Whether bytes are no text; logs of crashed writers hold a few NULs and still are."""
    return len(head) - len(head.translate(None, _CONTROL)) > _BINARY_SHARE * len(head)


def _begins_as_json_object(head: bytes) -> bool:
    """Whether it is an object of the API, which may hold any of these words in a message."""
    return kube_files.sniff(head, "") and head.lstrip()[:1] == b"{" and b'"apiVersion"' in head


def _untaken(label: str, hints: Hints, reason: str) -> tuple[str, Tables]:
    tables: Tables = {}
    _refuse(tables, hints, reason)
    return label, tables


def _refuse(tables: Tables, hints: Hints, reason: str) -> None:
    row = quarantine_row(hints, None, None, reason, table="", column=None)
    row["table_name"] = None
    tables["quarantine"] = [*tables.get("quarantine", ()), row]


class _Unpacked(io.RawIOBase):
    """The bytes of a file, unpacked by what it is and not by its name.

    A damaged packing ends the stream where it breaks; `flaw` then says what was wrong.
    """

    def __init__(self, packed: io.BufferedReader) -> None:
        self.flaw: str | None = None
        self._stream = unwrapped(packed)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        filled = 0
        try:
            # Piece by piece: what was unpacked before the break must not be lost with it.
            while filled < len(buffer) and (data := self._stream.read1(len(buffer) - filled)):
                buffer[filled : filled + len(data)] = data
                filled += len(data)
        except (OSError, *DAMAGE) as error:
            self.flaw = clean_text(error)
        return filled
