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

from goodput.sources.artefact import READ_CHARS, Problem, shown

CHUNK_BYTES = 32 << 20
MAX_LINE_BYTES = 16 << 20
BLOCK_ROWS = 250_000
ROW_NUMBER = "row number "
"""Column of a block that holds the row's number; the file's own have no blank at their end."""

LINE = "json line "
"""The only other column of an NDJSON block."""

_BOM = b"\xef\xbb\xbf"

# How files begin that are no text in UTF-8, and what to do with them.
_NO_TEXT = {
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "is compressed with gzip; let its name end in .gz",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd; unpack it, or use gzip",
    b"PK\x03\x04": "is a ZIP archive or a workbook; unpack it, or save its sheet as CSV in UTF-8",
    b"PAR1": "is a Parquet file; let its name end in .parquet",
}


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


def _text_chunks(path: Path, problems: list[Problem]) -> Iterator[bytes]:
    """As `_chunks`; nothing of a file whose first bytes say that it is no text."""
    is_first = True
    for chunk in _chunks(path, problems):
        if is_first and (words := _NO_TEXT.get(chunk[:4]) or _NO_TEXT.get(chunk[:2])):
            problems.append(Problem(None, None, None, words))
            return
        is_first = False
        yield chunk


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
    for chunk in _text_chunks(path, problems):
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
    return shown(line[:READ_CHARS].decode(errors="backslashreplace").rstrip("\n"))


# ----------------------------------------------------------------------- CSV


class _CsvReader(Protocol):
    """What csv.reader gives; its own class has no public name."""

    line_num: int

    def __next__(self) -> list[str]: ...

    def __iter__(self) -> Iterator[list[str]]: ...


def _csv(path: Path) -> Iterator[Block]:
    problems: list[Problem] = []
    raw = io.BufferedReader(_Chunked(_text_chunks(path, problems)))
    with io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="") as text:
        csv.field_size_limit(MAX_LINE_BYTES)
        reader = csv.reader(text)
        header = _csv_header(reader, problems)
        if header is not None:
            lines = reader.line_num
            yield from _csv_blocks(reader, header, problems)
            if lines > 1 and reader.line_num == lines:
                reason = "the header goes on to the end of the file; is a quote not closed?"
                problems.append(
                    Problem(1, None, _printable(",".join(header)), reason, ends_file=True)
                )
    if problems:
        yield _only(*problems)


def _csv_header(reader: Iterator[list[str]], problems: list[Problem]) -> list[str] | None:
    """The columns; a name that is not UTF-8 is none that a table has, and is only shown."""
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        reason = f"the header cannot be read: {error}"
        problems.append(Problem(1, None, None, reason, ends_file=True))
        return None
    line = ",".join(header)
    if flaw := _header_flaw(header):
        problems.append(Problem(1, None, _printable(line), flaw, ends_file=True))
        return None
    if not _is_text(line):
        flaw = "the header is not UTF-8 text; save the file as UTF-8"
        problems.append(Problem(1, None, _printable(line), flaw))
    return [name if _is_text(name) else _printable(name) for name in header]


def _header_flaw(names: list[str]) -> str | None:
    """Why the columns cannot be told apart, or read at all."""
    if any("\0" in name for name in names):
        return "the header holds NUL bytes; save the file as CSV in UTF-8"
    if len(set(names)) < len(names) or not all(names):
        return "the header names a column twice or not at all"
    return None


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
        elif not _is_text(line):
            problems.append(Problem(number, None, _printable(line), "is not UTF-8 text"))
        else:
            yield number, cells


def _is_text(line: str) -> bool:
    """Whether a line was read without bytes that are not UTF-8."""
    return line.isascii() or _is_utf8(line.encode(errors="surrogateescape"))


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
        file = pq.ParquetFile(source)
        names = [name.strip() for name in file.schema_arrow.names]
        if flaw := _header_flaw(names):
            problems.append(Problem(None, None, ",".join(names), flaw))
            file.close()
        for batch in [] if flaw else file.iter_batches(batch_size=BLOCK_ROWS):
            yield _batch_block(batch.rename_columns(names), row)
            row += batch.num_rows
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        first_line = str(error).splitlines()[0][:300]
        problems.append(Problem(None, None, None, f"is not a whole Parquet file: {first_line}"))
    if problems:
        yield _only(*problems)


def _batch_block(batch: pa.RecordBatch, first_row: int) -> Block:
    """A batch as a block, without the rows whose texts are not UTF-8."""
    rows = pa.Table.from_batches([batch])
    for place, column in enumerate(rows.schema):
        if kind := _substitute(column.type):
            rows = rows.set_column(place, column.name, rows[place].cast(kind))
    numbers = pa.array(range(first_row, first_row + batch.num_rows), pa.int64())
    rows = rows.append_column(ROW_NUMBER, numbers)
    if _is_valid(rows):
        return Block(rows)
    is_good = [_is_valid(rows.slice(place, 1)) for place in range(batch.num_rows)]
    problems = tuple(
        Problem(first_row + place, None, None, "is not UTF-8 text")
        for place, good in enumerate(is_good)
        if not good
    )
    return Block(rows.filter(pa.array(is_good, pa.bool_())), problems)


def _substitute(kind: pa.DataType) -> pa.DataType | None:
    """What to read a type as that DuckDB does not have."""
    if pa.types.is_float16(kind):
        return pa.float32()
    return pa.string() if pa.types.is_decimal256(kind) else None


def _is_valid(rows: pa.Table) -> bool:
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True
