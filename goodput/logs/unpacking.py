"""Streams of logs as text: gzip, zstd and UTF-16, by what they are; damage is noticed."""

from __future__ import annotations

import codecs
import io
import zlib
from abc import abstractmethod
from typing import IO, Any, cast

import zstandard
from isal import isal_zlib

# How much is unpacked at once, and read.
BLOCK_BYTES = 1 << 20
# What unpacking raises; the stubs of isal take its error for an instance.
_UNZIP = cast(type[Exception], isal_zlib.error)
DAMAGE = (EOFError, _UNZIP, zlib.error, zstandard.ZstdError)
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


def unpacked(raw: IO[bytes]) -> io.BufferedReader:
    """The text of a stream."""
    buffered = (
        raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(_Raw(raw), BLOCK_BYTES)
    )
    buffered = unwrapped(buffered)
    if _begins_as_utf16(buffered):
        return io.BufferedReader(_Utf16(buffered))
    skip_mark(buffered)
    return buffered


def unwrapped(packed: io.BufferedReader) -> io.BufferedReader:
    """The bytes of a stream without gzip or zstd, if it has one; damage raises one of DAMAGE."""
    head = packed.peek(4)[:4]
    # As large as what is read, or what was peeked at is lost where the next bytes are damaged.
    if head.startswith(_GZIP):
        return io.BufferedReader(_Gzip(packed), BLOCK_BYTES)
    return io.BufferedReader(_Zstd(packed), BLOCK_BYTES) if head == _ZSTD else packed


def skip_mark(stream: io.BufferedReader[Any]) -> None:
    """Reads past the byte order mark that editors may put before UTF-8."""
    try:
        if stream.peek(3)[:3] == codecs.BOM_UTF8:
            stream.read(3)
    except DAMAGE:
        pass  # the reader will meet it again


def _begins_as_utf16(stream: io.BufferedReader) -> bool:
    try:
        return stream.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    except DAMAGE:
        return False  # the reader will meet it again


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


class _Unpacking(io.RawIOBase):
    """A packed stream as its text. Damage is met again by who reads on: the libraries forget it."""

    _damage: Exception | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._damage is not None:
            raise self._damage
        try:
            return self._unpack(buffer)
        except DAMAGE as error:
            self._damage = error
            raise

    @abstractmethod
    def _unpack(self, buffer: memoryview) -> int:
        """Fills the buffer; returns 0 only at the end."""


class _Gzip(_Unpacking):
    """Unpacks gzip members; unlike the library's own stream, all of one that is cut off."""

    # With damage the library drops what came before it in the same input: little of a small log.
    _FIRST_INPUT, _MOST_INPUT = 1 << 9, 1 << 14
    _WINDOW = 31  # with a gzip header, whose check sum is checked
    # The check sum and the size: if they are wrong, the library drops what came with them.
    _TRAILER_BYTES = 8

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._held = b""
        self._input_bytes = self._FIRST_INPUT
        self._member = isal_zlib.decompressobj(self._WINDOW)
        self._is_open = False

    def _unpack(self, buffer: memoryview) -> int:
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
            return self._read()
        # Another member may follow, or zeros that pad a tape's block.
        rest = self._member.unused_data or self._read()
        while rest and not (rest := rest.lstrip(b"\0")):
            rest = self._read()
        self._member = isal_zlib.decompressobj(self._WINDOW)
        return rest

    def _read(self) -> bytes:
        """The next bytes but for the last ones, which may be a trailer and come by themselves."""
        while data := self._packed.read1(self._input_bytes):
            self._input_bytes = min(2 * self._input_bytes, self._MOST_INPUT)
            data = self._held + data
            self._held = data[-self._TRAILER_BYTES :]
            if ready := data[: -self._TRAILER_BYTES]:
                return ready
        ready, self._held = self._held, b""
        return ready


class _Utf16(io.RawIOBase):
    """UTF-16, as PowerShell redirects to files, as UTF-8."""

    _INPUT_BYTES = 1 << 16

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._ready = b""
        self._is_over = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready and not self._is_over:
            data = self._stream.read1(self._INPUT_BYTES)
            self._is_over = not data
            text = self._decoder.decode(data, final=self._is_over)
            self._ready = text.encode("utf-8", "replace")
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


class _Zstd(_Unpacking):
    """Unpacks zstd frames and, unlike the library's own stream, notices one that is cut off."""

    # Bounds what a crafted file can unpack to at once: a block of 4 bytes may hold 128 KiB.
    _INPUT_BYTES = 1024

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._is_open = False
        self._ready = b""

    def _unpack(self, buffer: memoryview) -> int:
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
