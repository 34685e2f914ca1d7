"""Reads logs of any size as blocks of whole lines: plain, gzip or zstd, from a path or a stream."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from goodput.errors import SourceUnreachable
from goodput.logs.paths import printable
from goodput.logs.unpacking import BLOCK_BYTES, DAMAGE, unpacked

# A longer line is binary or a dump; its head still says what it is.
MAX_LINE_BYTES = 1 << 18
# Lines are counted from one place to the next where these are further from each other.
_SPARSE_BYTES = 1 << 12
_LINE_FEED, _RETURN = b"\n\r"

ByteSource = io.BufferedReader


@dataclass(frozen=True, slots=True)
class Flaw:
    """Bytes that were not read as they stand: where, and why."""

    line: int
    column: str
    value: str
    reason: str


class FoundLines(NamedTuple):
    """Lines of a block at some places, as arrays.

    Attributes:
        starts, ends: where it begins and where its end begins in the block.
        numbers: counted from 1 in the log; a carriage return begins no line of its own.
    """

    starts: Any
    ends: Any
    numbers: Any

    def part(self, part: Any) -> FoundLines:
        """Some of them."""
        return FoundLines(*(column[part] for column in self))


@dataclass(slots=True)
class Block:
    """Whole lines, with the offset of the first byte and the number of the first line (from 1)."""

    data: bytes
    offset: int
    line: int
    _is_feed: Any = None
    # Where parts were left out, and how many bytes up to there.
    _cuts: tuple[Any, Any] | None = None

    def without(self, begins: Any, ends: Any) -> Block:
        """The same without some parts that hold no line feed, given by arrays in order."""
        if not len(begins):
            return self
        bounds = zip([0, *ends.tolist()], [*begins.tolist(), len(self.data)], strict=True)
        data = b"".join([self.data[begin:end] for begin, end in bounds])
        left_out = np.cumsum(ends - begins)
        return Block(data, self.offset, self.line, _cuts=(ends - left_out, left_out))

    def offsets_at(self, places: Any) -> Any:
        """The offsets in the log of some places in order."""
        offsets = places + self.offset
        if self._cuts is not None:
            cuts, left_out = self._cuts
            offsets += np.append(0, left_out)[np.searchsorted(cuts, places, "right")]
        return offsets

    def lines_at(self, places: Any) -> FoundLines:
        """The lines at some places in order; lines end at a line feed or carriage return."""
        if len(places) * _SPARSE_BYTES < len(self.data):
            return self._few_lines_at(places)
        feeds = np.append(np.flatnonzero(self._feeds()), len(self.data))
        ends = feeds
        if b"\r" in self.data:
            is_end = self._feeds() | (np.frombuffer(self.data, np.uint8) == _RETURN)
            ends = np.append(np.flatnonzero(is_end), len(self.data))
        line = np.searchsorted(ends, places)
        line = line[np.diff(line, prepend=-1) > 0]
        starts, count = np.where(line, ends[line - 1] + 1, 0), line
        if ends is not feeds:
            count = np.searchsorted(feeds, starts)  # only these count
        return FoundLines(starts, ends[line], count + self.line)

    def _few_lines_at(self, places: Any) -> FoundLines:
        """The same where most lines hold none of the places."""
        data, found, end, feed = self.data, [], -1, -1
        for place in places.tolist():
            if place < end:
                continue
            # Each search is bounded by the one before: a block of carriage returns is linear.
            floor = end + 1
            if feed < place:
                floor = data.rfind(b"\n", floor, place) + 1 or floor
                feed = _found(data.find(b"\n", place), len(data))
            start = data.rfind(b"\r", floor, place) + 1 or floor
            end = _found(data.find(b"\r", place, feed), feed)
            found.append((start, end))
        starts, ends = np.array(found, np.int64).reshape(-1, 2).T
        feeds = self._feeds()
        counts = [np.count_nonzero(feeds[a:b]) for a, b in pairwise([0, *starts.tolist()])]
        return FoundLines(starts, ends, np.cumsum(counts, dtype=np.int64) + self.line)

    def count_lines(self) -> int:
        """How many lines end in it."""
        return int(np.count_nonzero(self._feeds()))

    def _feeds(self) -> Any:
        if self._is_feed is None:
            self._is_feed = np.frombuffer(self.data, np.uint8) == _LINE_FEED
        return self._is_feed


def _found(place: int, otherwise: int) -> int:
    return otherwise if place < 0 else place


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
        except DAMAGE as error:
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
        self.lines += block.count_lines()

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
        yield unpacked(source)
        return
    with ExitStack() as opened:
        try:
            stream = unpacked(opened.enter_context(Path(source).open("rb")))
        except OSError as error:
            raise SourceUnreachable(
                f"cannot read {printable(source)}: {error.strerror}; check the path and its"
                " permissions"
            ) from None
        yield stream
