"""Reads logs of any size as blocks of whole lines: plain, gzip or zstd, from a path or a stream."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import zstandard

from goodput.errors import SourceUnreachable

BLOCK_BYTES = 1 << 20
# A longer line is binary or a dump; its head still says what it is.
MAX_LINE_BYTES = 1 << 18
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


ByteSource = io.BufferedReader


@dataclass(frozen=True, slots=True)
class Flaw:
    """Bytes that were not read as they stand: where, and why."""

    line: int
    column: str
    value: str
    reason: str


@dataclass(slots=True)
class Block:
    """Whole lines, with the offset of the first byte and the number of the first line (from 1)."""

    data: bytes
    offset: int
    line: int


@dataclass(slots=True)
class BlockReader:
    """Cuts a stream into blocks that end at a line end; counts lines and bytes, notes flaws."""

    stream: ByteSource
    lines: int = 0
    size: int = 0
    flaws: list[Flaw] = field(default_factory=list)
    _unfinished: bool = False
    _is_damaged: bool = False
    _is_binary: bool = False

    def __iter__(self) -> Iterator[Block]:
        carry, skipping = b"", False
        while data := self._read():
            self._note_binary(data)
            if skipping:
                data, skipping = self._skip(data)
            data = carry + data
            cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
            if not cut and len(data) > MAX_LINE_BYTES:
                self._note_long_line()
                yield self._block(data[:MAX_LINE_BYTES])
                self.size += len(data) - MAX_LINE_BYTES
                carry, skipping = b"", True
                continue
            carry = data[cut:]
            if cut:
                yield self._block(data[:cut])
        if carry:
            yield self._block(carry)
        self.lines += self._unfinished

    def _read(self) -> bytes:
        """Up to a block; of a damaged compressed file, what comes before the damage."""
        parts: list[bytes] = []
        size = 0
        if self._is_damaged:
            return b""
        try:
            while size < BLOCK_BYTES and (part := self.stream.read1(BLOCK_BYTES - size)):
                parts.append(part)
                size += len(part)
        except (EOFError, zlib.error, OSError, zstandard.ZstdError) as error:
            self._is_damaged = True
            reason = "the compressed data are cut off or damaged; the part before was read"
            self.flaws.append(Flaw(self.lines + 1, "", str(error)[:200], reason))
        return b"".join(parts)

    def _block(self, data: bytes) -> Block:
        block = Block(data, self.size, self.lines + 1)
        self.size += len(data)
        self.lines += data.count(b"\n")
        self._unfinished = not data.endswith(b"\n")
        return block

    def _skip(self, data: bytes) -> tuple[bytes, bool]:
        """Drops bytes up to the next line end."""
        ends = [end for end in (data.find(b"\n"), data.find(b"\r")) if end >= 0]
        cut = min(ends) if ends else len(data)
        self.size += cut
        return data[cut:], not ends

    def _note_long_line(self) -> None:
        reason = (
            f"the line is longer than {MAX_LINE_BYTES} bytes; only its beginning was searched: "
            "write such dumps to another file"
        )
        self.flaws.append(Flaw(self.lines + 1, "", "", reason))

    def _note_binary(self, data: bytes) -> None:
        if self._is_binary or b"\0" not in data:
            return
        self._is_binary = True
        line = self.lines + 1 + data.count(b"\n", 0, data.index(b"\0"))
        reason = (
            "binary bytes (NUL) in the log; the lines around them were read, the bytes were not"
        )
        self.flaws.append(Flaw(line, "", "", reason))


@contextmanager
def open_log(source: Path | str | IO[bytes]) -> Iterator[ByteSource]:
    """Opens a log for reading bytes and unpacks it by what it is, not by its name.

    Raises:
        SourceUnreachable: the file cannot be opened.
    """
    if not isinstance(source, (str, Path)):
        yield _unpacked(source)
        return
    try:
        raw = Path(source).open("rb")  # noqa: SIM115  # closed below, whatever the caller does
    except OSError as error:
        raise SourceUnreachable(
            f"cannot read {source}: {error.strerror}; check the path and its permissions"
        ) from None
    with raw:
        yield _unpacked(raw)


def _unpacked(raw: IO[bytes]) -> ByteSource:
    buffered = (
        raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(_Raw(raw), BLOCK_BYTES)
    )
    head = buffered.peek(4)[:4]
    if head.startswith(_GZIP):
        return io.BufferedReader(_Gzip(buffered), BLOCK_BYTES)
    if head == _ZSTD:
        return io.BufferedReader(_Zstd(buffered), BLOCK_BYTES)
    return buffered


class _Raw(io.RawIOBase):
    """Any object with `read` as a raw stream, so that its first bytes can be looked at."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Gzip(io.RawIOBase):
    """Unpacks gzip members in larger pieces than the library's own stream: twice as fast."""

    _INPUT_BYTES = 1 << 16
    _WINDOW = 31  # with a gzip header, whose check sum is checked

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._member = zlib.decompressobj(self._WINDOW)
        self._is_open = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            # At the end of a member the library repeats the rest as `unconsumed_tail`, too.
            data = b"" if self._member.eof else self._member.unconsumed_tail
            data = data or self._next_input()
            if not data and not self._is_open:
                return 0
            # Without input, what the member still holds.
            ready = self._member.decompress(data, len(buffer))
            if not ready and not data:
                raise EOFError("the last gzip member has no end")
            self._is_open = not self._member.eof
            if ready:
                buffer[: len(ready)] = ready
                return len(ready)

    def _next_input(self) -> bytes:
        if not self._member.eof:
            return self._packed.read1(self._INPUT_BYTES)
        # Another member may follow, or zeros that pad a tape's block.
        rest = self._member.unused_data or self._packed.read1(self._INPUT_BYTES)
        while rest and not (rest := rest.lstrip(b"\0")):
            rest = self._packed.read1(self._INPUT_BYTES)
        self._member = zlib.decompressobj(self._WINDOW)
        return rest


class _Zstd(io.RawIOBase):
    """Unpacks zstd frames and, unlike the library's own stream, notices one that is cut off."""

    # Bounds what a crafted file can unpack to at once: a block of 4 bytes may hold 128 KiB.
    _INPUT_BYTES = 1024

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._is_open = False
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            data = self._frame.unused_data if self._frame.eof else b""
            data = data or self._packed.read(self._INPUT_BYTES)
            if not data:
                if self._is_open:
                    raise EOFError("the last zstd frame has no end")
                return 0
            if self._frame.eof:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._ready = self._frame.decompress(data)
            self._is_open = not self._frame.eof
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size
