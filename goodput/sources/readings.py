"""How far each log file was read before, and which log a file continues: rows of raw.log_reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Self

from goodput.lake import Lake

TABLE = "log_reads"
_HASH_LENGTH = 24
_NOT_STORED = frozenset({"head"})


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One reading of one file, as a row of raw.log_reads says it.

    Attributes:
        stream: the path without what rotation adds; a log never moves to another one.
        file_bytes: size of the file as it lies there, packed or not.
        unread_bytes: of these, the unfinished last line that was left for later.
        lines: whole ones that were read; what follows them may change.
        root: what was listed when it was found; None in readings of earlier versions.
        gone_at: when a listing of the root did not find it any more.
        returned_at: when it was found there again, as it was.
        head: the first unpacked bytes; empty in readings of earlier runs, which have their hash.
    """

    log_id: str
    stream: str
    replaces: str | None
    path: str
    file_bytes: int
    unread_bytes: int
    modified_at: datetime | None
    lines: int
    head_bytes: int
    head_hash: str
    steps_hash: str
    job: str | None
    attempt: int | None
    tz: str | None
    reader: str
    root: str | None
    gone_at: datetime | None = None
    returned_at: datetime | None = None
    head: bytes = field(default=b"", repr=False)

    def under(self, log_id: str, replaces: str | None) -> Reading:
        """The same reading under another identity."""
        return replace(self, log_id=log_id, replaces=replaces)

    def row(self, cluster: str) -> dict[str, Any]:
        """The row of raw.log_reads."""
        return {"cluster": cluster, **{name: getattr(self, name) for name in COLUMNS}}


COLUMNS = tuple(item.name for item in fields(Reading) if item.name not in _NOT_STORED)


# Of a file that grew a thousand times, the last reading tells all.
_NEWEST = f"""
    select {", ".join(COLUMNS)} from raw.{TABLE} where cluster = $cluster
    qualify row_number() over (
        partition by path, log_id, root order by ingested_at desc, run_id desc
    ) = 1
    order by ingested_at, run_id
"""
_REPLACED = f"""
    select distinct replaces from raw.{TABLE} where cluster = $cluster and replaces is not null
"""


@dataclass
class Readings:
    """All readings of a cluster so far: the last of each file, and the last of each log."""

    cluster: str = "default"
    _by_path: dict[str, Reading] = field(default_factory=dict)
    _by_stream: dict[str, dict[str, Reading]] = field(default_factory=dict)
    _log_ids: set[str] = field(default_factory=set)
    _replaced: set[str] = field(default_factory=set)
    _below: dict[str | None, dict[str, Reading]] = field(default_factory=dict)

    @classmethod
    def of(cls, lake: Lake, cluster: str) -> Self:
        """What the lake knows of a cluster's logs."""
        readings = cls(cluster)
        snapshot, mine = lake.snapshot(), {"cluster": cluster}
        for row in snapshot.ask(TABLE, _NEWEST, mine):
            readings.add(Reading(**row))
        readings._replaced.update(row["replaces"] for row in snapshot.ask(TABLE, _REPLACED, mine))
        return readings

    def add(self, reading: Reading) -> None:
        """Takes in a reading that is newer than all others."""
        reading = replace(reading, head=b"")  # its hash is enough, and files are many
        if reading.gone_at is None or reading.path not in self._by_path:
            self._by_path[reading.path] = reading  # of a path, what lies there counts
        self._below.setdefault(reading.root, {})[reading.log_id] = reading
        self._log_ids.add(reading.log_id)
        of_stream = self._by_stream.setdefault(reading.stream, {})
        longest = of_stream.get(reading.log_id)
        if longest is None or reading.lines >= longest.lines:
            of_stream[reading.log_id] = reading
        if reading.replaces:
            self._replaced.add(reading.replaces)

    def last_of(self, path: str) -> Reading | None:
        """The last reading of a file."""
        return self._by_path.get(path)

    def is_known_below(self, root: str, log_id: str) -> bool:
        """Whether a log was read when a root was listed, lately or ever."""
        return log_id in self._below.get(root, ())

    def is_gone(self, root: str, log_id: str) -> bool:
        """Whether the last listing of a root that could tell did not find a log."""
        reading = self._below.get(root, {}).get(log_id)
        return reading is not None and reading.gone_at is not None

    def present_below(self, root: str) -> list[Reading]:
        """The last reading of each log that a root held when it was listed last."""
        return [
            reading
            for log_id, reading in self._below.get(root, {}).items()
            if reading.gone_at is None and log_id not in self._replaced
        ]

    def paths(self) -> Iterable[str]:
        """Every file that was read."""
        return self._by_path

    def is_taken(self, log_id: str) -> bool:
        """Whether a log has this identity already."""
        return log_id in self._log_ids

    def continued_by(self, reading: Reading) -> Reading | None:
        """The longest reading of a log of the same stream that begins as this one does."""
        hashes: dict[int, str] = {}
        candidates = []
        for log_id, other in self._by_stream.get(reading.stream, {}).items():
            size = other.head_bytes
            if size > reading.head_bytes or log_id in self._replaced:
                continue
            if size not in hashes:
                hashes[size] = head_hash(reading.head[:size])
            if hashes[size] == other.head_hash:
                candidates.append(other)
        return max(candidates, key=lambda other: (other.head_bytes, other.lines), default=None)


def head_hash(head: bytes) -> str:
    """What stands for the first bytes of a log."""
    return hashlib.sha256(head).hexdigest()[:_HASH_LENGTH]
