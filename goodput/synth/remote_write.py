"""Writes made-up samples into a real Prometheus, through its own remote-write protocol.

The message is protobuf inside snappy. Both are written out by hand here, as far as they are needed:
snappy allows a stream of literals that compresses nothing.
"""

from __future__ import annotations

import struct
import urllib.request
from collections.abc import Iterable, Mapping

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
"""The NaN by which Prometheus marks the end of a series."""

Sample = tuple[int, float]
Labels = frozenset[tuple[str, str]]

_LITERAL = 1 << 16
_LITERAL_OF_TWO_LENGTH_BYTES = 61 << 2


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number: int, content: bytes) -> bytes:
    """A field of a message that has a length."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def names(labels: Mapping[str, str]) -> bytes:
    """The labels of a series, in the order that Prometheus wants."""
    return b"".join(
        field(1, field(1, name.encode()) + field(2, value.encode()))
        for name, value in sorted(labels.items())
    )


def points(samples: Iterable[Sample]) -> bytes:
    """The samples of a series."""
    return b"".join(
        field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + varint(at_ms))
        for at_ms, value in samples
    )


def snappy(content: bytes) -> bytes:
    """A block of literals."""
    pieces = [content[start : start + _LITERAL] for start in range(0, len(content), _LITERAL)]
    return varint(len(content)) + b"".join(
        struct.pack("<BH", _LITERAL_OF_TWO_LENGTH_BYTES, len(piece) - 1) + piece for piece in pieces
    )


def write(url: str, series: Mapping[Labels, list[Sample]], piece_ms: int = 1_800_000) -> None:
    """Write {labels as a frozenset: [(ms, value), …]}, oldest first, as a head block needs it."""
    first = min(at for samples in series.values() for at, _ in samples)
    last = max(at for samples in series.values() for at, _ in samples)
    for start in range(first, last + 1, piece_ms):
        message = b""
        for labels, samples in series.items():
            some = [sample for sample in samples if start <= sample[0] < start + piece_ms]
            if some:
                message += field(1, names(dict(labels)) + points(some))
        if message:
            post(url, message)


def post(url: str, message: bytes) -> None:
    """Send series, each `field(1, names(…) + points(…))`."""
    headers = {
        "Content-Encoding": "snappy",
        "Content-Type": "application/x-protobuf",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    }
    request = urllib.request.Request(f"{url}/api/v1/write", snappy(message), headers)  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 - ours
        assert response.status // 100 == 2
