"""What the readers of dumped text files share: hints, bounded lines, instants, quarantine rows.

A reader is a module with `sniff(head, name) -> bool` and `read(stream, hints) -> {table: rows}`.
Neither raises on what a file holds: text that cannot be used becomes a row of `quarantine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from goodput.errors import UsageError
from goodput.logs.redact import redact
from goodput.window import parse_instant

Hints = Mapping[str, str]
"""What the user says about a file, all text. Known to the readers here: `cluster`, `file` (where it
came from), `job`, `node` (name), `tz` (IANA zone of naive times), `year` (of times that name none),
`boot_time` (RFC 3339, for kernel clocks), `gpus` (of one node), `root` (of the checkpoints)."""

Row = dict[str, Any]

_TEXTS = ("cluster", "file", "job", "namespace", "pod", "pod_uid", "container", "node", "root")
_NUMBERS = {
    "attempt": (0, 2**31 - 1),
    "rank": (0, 2**31 - 1),
    "year": (1971, 9998),
    "gpus": (1, 16384),
}
_INSTANTS = ("boot_time", "now")
_ZONE = "tz"

MAX_LINE_BYTES = 1 << 20
MAX_VALUE_CHARS = 200
READ_CHARS = 4096
"""How much of a value is looked at for secrets before it is cut."""


@dataclass(frozen=True)
class Problem:
    """Something that could not be taken: where, what stood there, and why not.

    Attributes:
        ends_file: what follows in the file was not read.
    """

    row_number: int | None
    column: str | None
    value: str | None
    reason: str
    ends_file: bool = False


def shown(value: str) -> str:
    """What quarantine keeps of a value. Secrets go first: half of one is not known for one."""
    return redact(value[:READ_CHARS])[:MAX_VALUE_CHARS]


def checked_hints(hints: Hints) -> Hints:
    """The hints as they are, if all of them can be used.

    Raises:
        UsageError: one that no reader knows, or a value that is not of its kind.
    """
    for name, text in hints.items():
        if name in _NUMBERS:
            least, most = _NUMBERS[name]
            if not text.isdecimal() or not least <= int(text) <= most:
                raise UsageError(
                    f"the hint {name} takes a number from {least} to {most}, not {text!r}"
                )
        elif name in _INSTANTS:
            parse_instant(text)
        elif name not in (*_TEXTS, _ZONE):
            known = ", ".join(sorted([*_TEXTS, *_NUMBERS, *_INSTANTS, _ZONE]))
            raise UsageError(f"there is no hint {name!r}; known are {known}")
    return hints


def cluster_of(hints: Hints) -> str:
    """The cluster that the rows belong to."""
    return hints.get("cluster", "default")


def quarantine_row(
    hints: Hints,
    line: int | None,
    value: str | None,
    reason: str,
    *,
    table: str,
    column: str | None,
) -> Row:
    """A row of `raw.quarantine`: what was not taken, why, and what to do about it."""
    return {
        "cluster": cluster_of(hints),
        "file": hints.get("file", "-"),
        "row_number": line,
        "table_name": table,
        "column_name": column,
        "value": None if value is None else shown(value),
        "reason": reason,
    }


def bounded_lines(stream: BinaryIO, begun: bytes = b"") -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines without their ends; None stands for a line of more than MAX_LINE_BYTES.

    A 100 MB line is skipped piece by piece, so memory stays bounded whatever the file holds.

    Args:
        stream: the rest of the file.
        begun: bytes of the first line that were read already, perhaps all of it.
    """
    number = 0
    while piece := _continue(begun, stream):
        begun = b""
        number += 1
        if len(piece) <= MAX_LINE_BYTES or piece.endswith(b"\n"):
            yield number, piece.rstrip(b"\r\n")
            continue
        while piece and not piece.endswith(b"\n"):
            piece = stream.readline(MAX_LINE_BYTES)
        yield number, None


def _continue(begun: bytes, stream: BinaryIO) -> bytes:
    if begun.endswith(b"\n"):
        return begun
    return begun + stream.readline(MAX_LINE_BYTES + 1 - len(begun))


def is_binary(head: bytes) -> bool:
    """Whether the first bytes cannot be text: logs and listings hold no NUL."""
    return b"\0" in head


def zone_of(hints: Hints) -> tzinfo:
    """The zone of naive times; UTC unless the hints name another one that exists."""
    try:
        return ZoneInfo(hints["tz"]) if "tz" in hints else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def parse_time(text: str, zone: tzinfo) -> datetime | None:
    """An ISO 8601 instant in UTC; naive times are read in `zone`. None where it is no instant."""
    try:
        instant = datetime.fromisoformat(text.strip())
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=zone)
        return instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def from_epoch(seconds: Any) -> datetime | None:
    """An instant from epoch seconds, kept to the microsecond. None where it is no such number."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
