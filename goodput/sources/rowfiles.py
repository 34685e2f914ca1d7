"""Reads files of rows block by block: NDJSON, CSV and Parquet, gzipped or not, damaged or not.

A reader yields blocks whose cells are still what the file said (texts, or the types of a Parquet
file), each row with its number, and the problems of what could not be read as rows at all.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from goodput.sources.artefact import Problem

CHUNK_BYTES = 32 << 20
MAX_LINE_BYTES = 16 << 20
BLOCK_ROWS = 250_000
ROW_NUMBER = "row number"
"""Column of a block that holds the row's number; the space keeps it apart from the file's own."""

LINE = "json line"
"""The only other column of an NDJSON block."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """Some rows of a file, and what could not be read among them."""

    rows: pa.Table
    problems: tuple[Problem, ...] = ()


def read_rows(path: Path, kind: str) -> Iterator[Block]:
    """The rows of a file, in order.

    Args:
        kind: "ndjson", "csv" or "parquet".
    """
    readers = {"ndjson": _ndjson, "csv": _csv, "parquet": _parquet}
    try:
        if path.stat().st_size == 0:
            yield _only(Problem(None, None, None, "the file is empty"))
            return
        yield from readers[kind](path)
    except OSError as error:
        yield _only(
            Problem(None, None, None, f"the file cannot be read: {error.strerror or error}")
        )


def _only(*problems: Problem) -> Block:
    return Block(pa.table({ROW_NUMBER: pa.array([], pa.int64())}), problems)


def _open(path: Path) -> io.BufferedReader | gzip.GzipFile:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def _chunks(path: Path, problems: list[Problem]) -> Iterator[bytes]:
    """The file's bytes; a compressed file that breaks off gives what came before the break."""
    with _open(path) as stream:
        flaw = None
        while flaw is None:
            chunk, flaw = _read_chunk(stream)
            if chunk:
                yield chunk
            elif flaw is None:
                return
    problems.append(Problem(None, None, None, f"the compressed file is damaged: {flaw}"))


def _read_chunk(stream: io.BufferedReader | gzip.GzipFile) -> tuple[bytes, str | None]:
    """The next bytes up to CHUNK_BYTES, fewer only at the end, and what was wrong there."""
    parts: list[bytes] = []
    missing = CHUNK_BYTES
    try:
        while missing and (part := stream.read1(missing)):
            parts.append(part)
            missing -= len(part)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        return b"".join(parts), str(error)
    return b"".join(parts), None


# -------------------------------------------------------------------- NDJSON


def _ndjson(path: Path) -> Iterator[Block]:
    problems: list[Problem] = []
    rest, row, is_first = b"", 1, True
    overlong = 0  # bytes seen so far of a line that is too long to keep
    for chunk in _chunks(path, problems):
        data = rest + (chunk.removeprefix(_BOM) if is_first else chunk)
        is_first = False
        if overlong:
            cut = data.find(b"\n") + 1
            overlong += cut - 1 if cut else len(data)
            if not cut:
                continue
            problems.append(_too_long(row, overlong))
            data, row, overlong = data[cut:], row + 1, 0
        cut = data.rfind(b"\n") + 1
        if cut:
            yield _line_block(data[:cut], row, problems)
            row += data.count(b"\n", 0, cut)
        rest = data[cut:]
        if len(rest) > MAX_LINE_BYTES:
            rest, overlong = b"", len(rest)
    if overlong:
        problems.append(_too_long(row, overlong))
    if rest or problems:
        yield _line_block(rest, row, problems)


def _too_long(row: int, length: int) -> Problem:
    limit = MAX_LINE_BYTES >> 20
    return Problem(row, None, None, f"a line of {length} bytes is longer than {limit} MiB")


def _line_block(data: bytes, first_row: int, problems: list[Problem]) -> Block:
    """Whole lines as a table; takes over the problems found before."""
    found = list(problems)
    problems.clear()
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    numbers: Sequence[int] = range(first_row, first_row + len(lines))
    if not _is_utf8(data) or max(map(len, lines), default=0) > MAX_LINE_BYTES:
        good = [
            (number, line)
            for number, line in zip(numbers, lines, strict=True)
            if _keeps_line(number, line, found)
        ]
        numbers, lines = [number for number, _ in good], [line for _, line in good]
    texts = pa.array(lines, pa.binary()).cast(pa.string())
    return Block(pa.table({ROW_NUMBER: pa.array(numbers, pa.int64()), LINE: texts}), tuple(found))


def _keeps_line(number: int, line: bytes, found: list[Problem]) -> bool:
    """Whether a line can be parsed at all; notes why not."""
    if len(line) > MAX_LINE_BYTES:
        found.append(_too_long(number, len(line)))
    elif not _is_utf8(line):
        found.append(Problem(number, None, _shown(line), "is not UTF-8 text"))
    else:
        return True
    return False


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _shown(line: bytes) -> str:
    return line[:200].decode(errors="backslashreplace").rstrip("\n")


# ----------------------------------------------------------------------- CSV


class _CsvReader(Protocol):
    """What csv.reader gives; its own class has no public name."""

    line_num: int

    def __next__(self) -> list[str]: ...

    def __iter__(self) -> Iterator[list[str]]: ...


def _csv(path: Path) -> Iterator[Block]:
    problems: list[Problem] = []
    raw = io.BufferedReader(_Chunked(_chunks(path, problems)))
    with io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="") as text:
        csv.field_size_limit(MAX_LINE_BYTES)
        reader = csv.reader(text)
        header = _csv_header(reader, problems)
        if header is not None:
            yield from _csv_blocks(reader, header, problems)
    if problems:
        yield _only(*problems)


def _csv_header(reader: Iterator[list[str]], problems: list[Problem]) -> list[str] | None:
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        problems.append(Problem(1, None, None, f"the header cannot be read: {error}"))
        return None
    if len(set(header)) < len(header) or not all(header):
        reason = "the header names a column twice or not at all"
        problems.append(Problem(1, None, _printable(",".join(header)), reason))
        return None
    return header


def _csv_blocks(reader: _CsvReader, header: list[str], problems: list[Problem]) -> Iterator[Block]:
    rows: list[list[str]] = []
    numbers: list[int] = []
    for number, cells in _csv_rows(reader, len(header), problems):
        rows.append(cells)
        numbers.append(number)
        if len(rows) == BLOCK_ROWS:
            yield _csv_block(header, rows, numbers, problems)
            rows, numbers = [], []
    yield _csv_block(header, rows, numbers, problems)


def _csv_rows(
    reader: _CsvReader, width: int, problems: list[Problem]
) -> Iterator[tuple[int, list[str]]]:
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            problems.append(Problem(number, None, None, f"is not a CSV row: {error}"))
            continue
        if cells is None:
            return
        if not cells:
            continue
        line = ",".join(cells)
        if len(cells) != width:
            reason = f"has {len(cells)} cells where the header names {width}"
            problems.append(Problem(number, None, _printable(line), reason))
        elif not line.isascii() and not _is_utf8(line.encode(errors="surrogateescape")):
            problems.append(Problem(number, None, _printable(line), "is not UTF-8 text"))
        else:
            yield number, cells


def _printable(line: str) -> str:
    """The line's start, bytes that are not UTF-8 as backslash escapes."""
    return _shown(line.encode(errors="surrogateescape"))


def _csv_block(
    header: list[str], rows: list[list[str]], numbers: list[int], problems: list[Problem]
) -> Block:
    cells = zip(*rows, strict=True) if rows else [()] * len(header)
    table = {
        name: pa.array(column, pa.string()) for name, column in zip(header, cells, strict=True)
    }
    found = tuple(problems)
    problems.clear()
    return Block(pa.table({ROW_NUMBER: pa.array(numbers, pa.int64()), **table}), found)


class _Chunked(io.RawIOBase):
    """A raw stream over an iterator of byte chunks."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count


# ------------------------------------------------------------------- Parquet


def _parquet(path: Path) -> Iterator[Block]:
    problems: list[Problem] = []
    row = 1
    try:
        source: Path | io.BytesIO = path
        if path.suffix == ".gz":
            source = io.BytesIO(b"".join(_chunks(path, problems)))
        for batch in pq.ParquetFile(source).iter_batches(batch_size=BLOCK_ROWS):
            numbers = pa.array(range(row, row + batch.num_rows), pa.int64())
            yield Block(pa.Table.from_batches([batch]).append_column(ROW_NUMBER, numbers))
            row += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        first_line = str(error).splitlines()[0][:300]
        problems.append(Problem(None, None, None, f"is not a whole Parquet file: {first_line}"))
    if problems:
        yield _only(*problems)
