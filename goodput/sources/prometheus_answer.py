"""Reads an answer of Prometheus' query API series by series, without holding it whole.

An answer of a range selector is `{"status":…,"data":{"resultType":"matrix","result":[S,S,…]},…}`
with S = `{"metric":{…},"values":[[time,"number"],…]}`. Text inside a JSON string cannot contain the
bytes `{"metric":`, since its quotes are escaped there: cutting there is safe, whatever labels hold.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from goodput.logs.redact import redact

_RESULT = b'"result":['
_SERIES = b'{"metric":'
_BETWEEN = b"," + _SERIES
_MAX_HEAD_BYTES = 1 << 20
_MAX_SERIES_BYTES = 256 << 20


class Series(msgspec.Struct, gc=False):
    """One series: its labels, and its samples as they were sent."""

    metric: dict[str, str]
    values: msgspec.Raw = msgspec.Raw(b"[]")


class _Data(msgspec.Struct):
    result: list[msgspec.Raw]
    resultType: str = ""  # noqa: N815 - as the API names it


class _Envelope(msgspec.Struct):
    status: str = ""
    error: str = ""
    data: _Data | None = None
    warnings: list[str] | None = None
    isPartial: bool = False  # noqa: N815 - as VictoriaMetrics names it


class BadAnswer(Exception):
    """The answer is cut, or is none."""


@dataclass
class Answer:
    """What an answer says beside its series; complete after the last of them was read."""

    warnings: list[str] = field(default_factory=list)
    bytes: int = 0


_envelope = msgspec.json.Decoder(_Envelope)
_series = msgspec.json.Decoder(Series)


def read_series(pieces: Iterable[bytes], answer: Answer) -> Iterator[Series]:
    """The series of an answer that comes in pieces.

    Args:
        answer: gets the warnings when the end was read.

    Raises:
        BadAnswer: it ends early, is no answer of a range selector, or reports an error.
    """
    buffer, head = b"", None
    for piece in pieces:
        answer.bytes += len(piece)
        buffer += piece
        if head is None:
            start = buffer.find(_RESULT)
            if start < 0:
                if len(buffer) > _MAX_HEAD_BYTES:
                    raise BadAnswer("it begins like none of Prometheus")
                continue
            start += len(_RESULT)
            head, buffer = buffer[:start], buffer[start:]
        *whole, buffer = buffer.split(_BETWEEN)
        for text in whole:
            yield _decoded(text)
        if len(buffer) > _MAX_SERIES_BYTES:
            raise BadAnswer("a single series in it is larger than 256 MB")
    if head is None:
        _finish(buffer, answer)
        raise BadAnswer("it has no result")
    if buffer[:1] != b"]":
        last, buffer = _split_off(buffer)
        yield _decoded(last)
    _finish(head + buffer, answer)


def _decoded(text: bytes) -> Series:
    """A series from its text, which may lack its first bytes: they separate it from the last."""
    try:
        return _series.decode(text if text.startswith(_SERIES) else _SERIES + text)
    except msgspec.MsgspecError as error:
        raise BadAnswer(f"a series in it cannot be read: {error}") from None


def _split_off(text: bytes) -> tuple[bytes, bytes]:
    """The last series, and what follows the list of series."""
    whole = (text if text.startswith(_SERIES) else _SERIES + text).decode(errors="replace")
    try:
        _, end = json.JSONDecoder().raw_decode(whole)
    except (ValueError, RecursionError):
        raise BadAnswer("it was cut off") from None
    return whole[:end].encode(), whole[end:].encode()


def _finish(text: bytes, answer: Answer) -> None:
    """Checks what is around the series, and keeps the warnings."""
    try:
        envelope = _envelope.decode(text)
    except msgspec.MsgspecError as error:
        raise BadAnswer(f"it was cut off or is none of Prometheus: {error}") from None
    if envelope.status != "success" or envelope.data is None:
        raise BadAnswer(f"it reports an error: {envelope.error or 'without a reason'}")
    if envelope.data.resultType != "matrix":
        raise BadAnswer(f"it is a {envelope.data.resultType or 'nothing'}, not a matrix")
    answer.warnings += [redact(text) for text in envelope.warnings or []]
    if envelope.isPartial:
        answer.warnings.append("the answer is partial")
