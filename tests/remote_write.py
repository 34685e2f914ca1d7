"""Writes made-up samples into a real Prometheus, through its own remote-write protocol.

The message is protobuf inside snappy. Both are written out by hand here, as far as they are needed:
snappy allows a stream of literals that compresses nothing.
"""

import struct
import urllib.request

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]
"""The NaN by which Prometheus marks the end of a series."""

_LITERAL = 60


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def time_series(labels, samples):
    text = b"".join(
        field(1, field(1, name.encode()) + field(2, value.encode()))
        for name, value in sorted(labels.items())
    )
    points = b"".join(
        field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + varint(at_ms))
        for at_ms, value in samples
    )
    return field(1, text + points)


def snappy(content):
    pieces = [content[start : start + _LITERAL] for start in range(0, len(content), _LITERAL)]
    return varint(len(content)) + b"".join(bytes([len(p) - 1 << 2]) + p for p in pieces)


def write(url, series, piece_ms=1_800_000):
    """Writes {labels as a frozenset: [(ms, value), …]}, oldest first, as a head block needs it."""
    first = min(at for samples in series.values() for at, _ in samples)
    last = max(at for samples in series.values() for at, _ in samples)
    for start in range(first, last + 1, piece_ms):
        message = b""
        for labels, samples in series.items():
            some = [sample for sample in samples if start <= sample[0] < start + piece_ms]
            if some:
                message += time_series(dict(labels), some)
        if message:
            post(url, snappy(message))


def post(url, body):
    headers = {
        "Content-Encoding": "snappy",
        "Content-Type": "application/x-protobuf",
        "X-Prometheus-Remote-Write-Version": "0.1.0",
    }
    request = urllib.request.Request(f"{url}/api/v1/write", body, headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        assert response.status // 100 == 2
