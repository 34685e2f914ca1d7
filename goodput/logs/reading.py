"""Reads logs of any size as blocks of whole lines: plain, gzip or zstd, from a path or a stream."""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

import zstandard
from isal import isal_zlib

from goodput.errors import SourceUnreachable
from goodput.logs.paths import printable

BLOCK_BYTES = 1 << 20
# A longer line is binary or a dump; its head still says what it is.
MAX_LINE_BYTES = 1 << 18
# NumPy counts line ends four times as fast, but its import takes as long as to count 200 MB.
_LARGE = 1 << 27
_LONG_SPAN = 1 << 14
_LINE_FEED = 10
# What unpacking raises; the stubs of isal take its error for an instance.
_UNZIP = cast(type[Exception], isal_zlib.error)
_DAMAGE = (EOFError, _UNZIP, zlib.error, zstandard.ZstdError)
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
    _counted: int = 0
    _lines: int = 0

    def line_at(self, place: int) -> int:
        """The number of the line at a place, which is not before the place asked for last.

        So each byte is counted once: on logs that say little, that is a third of the work.
        """
        begin, self._counted = self._counted, place
        if place - begin < _LONG_SPAN or not (self.offset >= _LARGE or "numpy" in sys.modules):
            self._lines += self.data.count(b"\n", begin, place)
        else:
            import numpy as np

            span = np.frombuffer(self.data, np.uint8, place - begin, begin)
            self._lines += int(np.count_nonzero(span == _LINE_FEED))
        return self.line + self._lines


@dataclass(slots=True)
class BlockReader:
    """Cuts a stream into blocks that end at a line end; counts lines and bytes, notes flaws.

    Attributes:
        damage: the flaw that ended the reading before the end of the stream.
        is_unreadable: whether that was the disk's or the network's, not the data's.
    """

    stream: ByteSource
    lines: int = 0
    size: int = 0
    flaws: list[Flaw] = field(default_factory=list)
    damage: Flaw | None = None
    is_unreadable: bool = False
    _is_binary: bool = False

    def __iter__(self) -> Iterator[Block]:
        # One buffer for all blocks: a megabyte of new memory each time costs as much as the search.
        buffer = bytearray(MAX_LINE_BYTES + BLOCK_BYTES)
        view = memoryview(buffer)
        kept, skipping, is_whole = 0, False, True
        while count := self._read(view[kept : kept + BLOCK_BYTES]):
            self._note_binary(buffer, kept, kept + count)
            begin, end = 0, kept + count
            if skipping:
                begin, skipping = self._skip(buffer, end)
            cut = _line_end(buffer, begin, end)
            if cut == begin and end - begin > MAX_LINE_BYTES:
                self._note_long_line()
                cut, skipping = begin + MAX_LINE_BYTES, True
            if cut > begin:
                block = Block(bytes(view[begin:cut]), self.size, self.lines + 1)
                yield block
                self._count(block)
                is_whole = block.data.endswith(b"\n")
            if skipping:
                self.size += end - cut
                cut = end
            kept = end - cut
            buffer[:kept] = view[cut:end]
        if kept:
            block = Block(bytes(view[:kept]), self.size, self.lines + 1)
            yield block
            self._count(block)
            is_whole = False
        self.lines += not is_whole

    def _read(self, room: memoryview) -> int:
        """Fills the room; of a damaged file, with what comes before the damage."""
        size = 0
        if self.damage is not None:
            return 0
        try:
            while size < len(room) and (count := self.stream.readinto1(room[size:])):
                size += count
        except _DAMAGE as error:
            reason = "the compressed data are cut off or damaged; the part before was read"
            self._stop(str(error), reason)
        except OSError as error:
            self.is_unreadable = True
            self._stop(
                error.strerror or str(error), "reading failed; only the part before was read"
            )
        return size

    def _stop(self, error: str, reason: str) -> None:
        self.damage = Flaw(self.lines + 1, "", error[:200], reason)
        self.flaws.append(self.damage)

    def _count(self, block: Block) -> None:
        self.size += len(block.data)
        self.lines = block.line_at(len(block.data)) - 1

    def _skip(self, data: bytearray, end: int) -> tuple[int, bool]:
        """Where the next line end is, up to which bytes are dropped, and whether there is none."""
        places = (data.find(b"\n", 0, end), data.find(b"\r", 0, end))
        ends = [place for place in places if place >= 0]
        cut = min(ends, default=end)
        self.size += cut
        return cut, not ends

    def _note_long_line(self) -> None:
        reason = (
            f"the line is longer than {MAX_LINE_BYTES} bytes; only its beginning was searched: "
            "write such dumps to another file"
        )
        self.flaws.append(Flaw(self.lines + 1, "", "", reason))

    def _note_binary(self, data: bytearray, begin: int, end: int) -> None:
        if self._is_binary or (place := data.find(0, begin, end)) < 0:
            return
        self._is_binary = True
        line = self.lines + 1 + data.count(b"\n", begin, place)
        reason = (
            "binary bytes (NUL) in the log; the lines around them were read, the bytes were not"
        )
        self.flaws.append(Flaw(line, "", "", reason))


def _line_end(data: bytearray, begin: int, end: int) -> int:
    """Just behind the last line end, or `begin` without one."""
    line_feed = data.rfind(b"\n", begin, end) + 1
    return max(begin, line_feed, data.rfind(b"\r", max(begin, line_feed), end) + 1)


@contextmanager
def open_log(source: Path | str | IO[bytes]) -> Iterator[ByteSource]:
    """Opens a log for reading bytes and unpacks it by what it is, not by its name.

    Raises:
        SourceUnreachable: the file cannot be opened, or not even its first bytes be read.
        OSError: the same of a stream.
    """
    if not isinstance(source, (str, Path)):
        yield _unpacked(source)
        return
    with ExitStack() as opened:
        try:
            stream = _unpacked(opened.enter_context(Path(source).open("rb")))
        except OSError as error:
            raise SourceUnreachable(
                f"cannot read {printable(source)}: {error.strerror}; check the path and its"
                " permissions"
            ) from None
        yield stream


def _unpacked(raw: IO[bytes]) -> ByteSource:
    buffered = (
        raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(_Raw(raw), BLOCK_BYTES)
    )
    head = buffered.peek(4)[:4]
    if head.startswith(_GZIP):
        return io.BufferedReader(_Gzip(buffered))
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
    """Unpacks gzip members; unlike the library's own stream, all of one that is cut off."""

    _INPUT_BYTES = 1 << 16
    _WINDOW = 31  # with a gzip header, whose check sum is checked

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._member = isal_zlib.decompressobj(self._WINDOW)
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
        self._member = isal_zlib.decompressobj(self._WINDOW)
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
