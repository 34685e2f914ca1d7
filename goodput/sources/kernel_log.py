"""Kernel logs: dmesg, journalctl, syslog. Rows of `kernel_events` for lines that a signature knows.

Which node and GPU a line speaks of is decided in sql/05_observed, since nodes may be collected
later. Lines that no signature knows are not kept: most of a kernel log explains no failure.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from io import BufferedReader
from typing import Any, BinaryIO, cast

from goodput._resources import catalog_dir
from goodput.errors import UsageError
from goodput.logs.clock import LogClock, zone_named
from goodput.logs.gate import Gate, make_gate
from goodput.logs.reading import Block, BlockReader, ByteSource
from goodput.logs.regex import Match
from goodput.logs.signatures import Signature, SignatureSet, excerpt, load_signatures
from goodput.sources.artefact import (
    Hints,
    Row,
    cluster_of,
    from_epoch,
    is_binary,
    parse_time,
    quarantine_row,
)
from goodput.texts import counted

TABLE = "kernel_events"
SOURCE = "kernel"
_SNIFF_LINES = 400
_SNIFF_SHARE = 0.4
_MAX_A_MINUTE = 100
_PCI = re.compile(rb"\(PCI:([0-9a-fA-F]{4,8}(?::[0-9a-fA-F]{2}){1,2}(?:\.[0-9a-fA-F])?)\)")
_BUS = re.compile(rb"\b([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F])\b")
_PID = re.compile(rb"\bpid=(\d{1,9})\b")
_NO_BOOT_TIME = (
    "the time is counted from an unknown boot; write the log with dmesg --time-format iso, "
    "or give the boot time when collecting"
)
_NO_YEAR = "the time names no year; give the year when collecting, or use journalctl -o short-iso"
_NO_TIME = "the line shows no time; write the log with dmesg --time-format iso"


@dataclass(frozen=True)
class Shape:
    """What stands before a message: see goodput/catalog/kernel_lines.toml."""

    name: str
    regex: re.Pattern[bytes]
    is_bare: bool


@dataclass(frozen=True, slots=True)
class Head:
    """What the beginning of a line says: when, on which host; and why there is no time."""

    at: datetime | None
    host: str | None
    message: bytes
    no_time: str = _NO_TIME


@cache
def shapes() -> tuple[Shape, ...]:
    """The shapes of lines in the order in which they are tried."""
    text = (catalog_dir() / "kernel_lines.toml").read_text(encoding="utf-8")
    return tuple(
        Shape(entry["name"], re.compile(entry["regex"].encode()), entry.get("bare", False))
        for entry in tomllib.loads(text)["shape"]
    )


def _signatures() -> SignatureSet:
    return _kernel_part(load_signatures())


@cache
def _kernel_part(signatures: SignatureSet) -> SignatureSet:
    return SignatureSet([s for s in signatures.signatures if s.source == SOURCE])


def _gate() -> Gate:
    return make_gate(_signatures().literals)


def sniff(head: bytes, name: str) -> bool:
    """Whether the first bytes of a file are a kernel log."""
    if is_binary(head):
        return False
    lines = [line for line in head.splitlines()[:_SNIFF_LINES] if line.strip()]
    if not lines:
        return False
    found = [_shape_of(line) for line in lines]
    sure = sum(shape is not None and not shape.is_bare for shape in found)
    bare = sum(shape is not None and shape.is_bare for shape in found)
    known = sum(_signatures().match(line) is not None for line in lines)
    journal = sum(_journal(line) is not None for line in lines)
    is_system = b"kernel:" in head or re.search(r"kern|dmesg|syslog|messages|journal", name)
    enough = _SNIFF_SHARE * len(lines)
    return max(sure + (bare if is_system else 0), known, journal) >= enough


def _shape_of(line: bytes) -> Shape | None:
    return next((shape for shape in shapes() if shape.regex.match(line)), None)


def read(stream: BinaryIO, hints: Hints) -> dict[str, list[Row]]:
    """Reads one file.

    Args:
        stream: the decompressed bytes.
        hints: `node` whose log it is where the lines name no host, `tz` of local times, `year` of
            times without one (else the latest year that is not after `now`), `boot_time` of
            clocks that count from boot.
    """
    reader = _Reader(hints)
    blocks = BlockReader(cast(ByteSource, _readable(stream)))
    for block in blocks:
        _read_block(block, reader)
    for flaw in blocks.flaws:
        reader.refuse(flaw.line, flaw.value or None, flaw.reason, flaw.column or None)
    return {TABLE: reader.rows, "quarantine": [*reader.refused, *reader.summary()]}


def nameless(tables: Mapping[str, Sequence[Row]]) -> str | None:
    """What to do about a file whose lines do not say whose they are; None if they do."""
    count = sum(row["node_name"] is None for row in tables.get(TABLE, ()))
    if not count:
        return None
    return (
        f"{counted(count, 'line')} name no node, so nothing is blamed on them: give --hint"
        " node=NAME, or let a folder or the file bear its name"
    )


def _readable(stream: BinaryIO) -> BinaryIO:
    if hasattr(stream, "read1"):
        return stream
    return cast(BinaryIO, BufferedReader(cast(Any, stream)))


def _read_block(block: Block, reader: _Reader) -> None:
    for start, end, number in zip(*_gate().lines(block), strict=True):
        text = block.data[start:end]
        found = _signatures().search(text, _gate().literals_of(text))
        if found is not None:
            reader.take(text, int(number), *found)


@dataclass
class _Reader:
    """Turns the lines of one file into rows; remembers what it could not time or left out."""

    hints: Hints
    rows: list[Row] = field(default_factory=list)
    refused: list[Row] = field(default_factory=list)
    _untimed: Counter[str] = field(default_factory=Counter)
    _first_untimed: dict[str, tuple[int, str]] = field(default_factory=dict)
    _seen: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        year = self.hints.get("year", "")
        self._clock = LogClock(_zone(self.hints), int(year) if year.isdecimal() else None)
        self._now = parse_time(self.hints.get("now", ""), UTC)
        self._boot = parse_time(self.hints.get("boot_time", ""), UTC)

    def take(self, line: bytes, number: int, signature: Signature, match: Match) -> None:
        """Makes a row of a line that a signature knows."""
        head = self._head(line)
        code = signature.code(match)
        host = head.host or self.hints.get("node")
        minute = head.at.replace(second=0, microsecond=0) if head.at else None
        regex = signature.regex
        text = excerpt(head.message, regex.search(head.message) or match, regex)
        key = (signature.id, code, host, minute)
        self._seen[key] += 1
        if self._seen[key] > _MAX_A_MINUTE and head.at is not None:
            return
        if head.at is None:
            self._untimed[head.no_time] += 1
            self._first_untimed.setdefault(head.no_time, (number, text))
        self.rows.append(
            {
                "cluster": cluster_of(self.hints),
                "t": head.at,
                "source": signature.evidence_source if code else SOURCE,
                "value": code or text,
                "node_name": host,
                "pci": _text(_PCI.search(line) or _BUS.search(line)),
                "pid": int(pid) if (pid := _text(_PID.search(line))) else None,
                "message": text,
                "signature": signature.id,
                "origin": self.hints.get("file"),
                "origin_line": number,
            }
        )

    def refuse(self, line: int | None, value: str | None, reason: str, column: str | None) -> None:
        """Notes what was not taken."""
        self.refused.append(
            quarantine_row(self.hints, line, value, reason, table=TABLE, column=column)
        )

    def summary(self) -> Iterator[Row]:
        """One row for each reason why times are missing, and one for repeats that were left out."""
        for reason, count in self._untimed.items():
            line, text = self._first_untimed[reason]
            also = f" ({count} such lines, this is the first)" if count > 1 else ""
            yield quarantine_row(self.hints, line, text, reason + also, table=TABLE, column="t")
        if left_out := sum(count - _MAX_A_MINUTE for count in self._repeats()):
            reason = (
                f"{left_out} lines repeat others of their kind more than {_MAX_A_MINUTE} times a "
                "minute on one node; the repeats were left out"
            )
            yield quarantine_row(self.hints, None, None, reason, table=TABLE, column=None)

    def _repeats(self) -> Iterator[int]:
        for key, count in self._seen.items():
            if count > _MAX_A_MINUTE and key[-1] is not None:
                yield count

    def _head(self, line: bytes) -> Head:
        if journal := _journal(line):
            return journal
        for shape in shapes():
            if match := shape.regex.match(line):
                return self._read_head(match, line[match.end() :])
        return Head(None, None, line)

    def _read_head(self, match: re.Match[bytes], message: bytes) -> Head:
        groups = match.groupdict()
        host = groups["host"].decode("utf-8", "replace") if groups.get("host") else None
        if groups.get("epoch"):
            return Head(from_epoch(int(groups["epoch"])), host, message)
        if groups.get("stamp"):
            return Head(self._stamp(groups["stamp"]), host, message, _NO_YEAR)
        if groups.get("uptime") or groups.get("uptime_us"):
            seconds = float(groups.get("uptime") or 0) or int(groups.get("uptime_us") or 0) / 1e6
            at = self._boot + timedelta(seconds=seconds) if self._boot else None
            return Head(at, host, message, _NO_BOOT_TIME)
        return Head(None, host, message)

    def _stamp(self, stamp: bytes) -> datetime | None:
        if self._clock.year is None and self._now:
            # A time without a year is the latest one that can have been seen by now.
            first = LogClock(self._clock.zone, self._now.year).read(stamp)
            is_future = first is not None and first.ms > self._now.timestamp() * 1000
            self._clock.year = self._now.year - is_future
        read = self._clock.read(stamp)
        return None if read is None else datetime.fromtimestamp(read.ms / 1000, UTC)


def _zone(hints: Hints) -> Any:
    try:
        return zone_named(hints["tz"]) if "tz" in hints else None
    except UsageError:
        return None


def _journal(line: bytes) -> Head | None:
    """A line of journalctl -o json."""
    if b'"MESSAGE"' not in line or not line.startswith(b"{"):
        return None
    try:
        entry = json.loads(line)
        at = from_epoch(int(entry["__REALTIME_TIMESTAMP"]) / 1e6)
        message = entry["MESSAGE"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(message, str):
        return None
    host = entry.get("_HOSTNAME")
    return Head(at, host if isinstance(host, str) else None, message.encode())


def _text(match: re.Match[bytes] | None) -> str | None:
    return match[1].decode("ascii", "replace").lower() if match else None
