"""Leaves out what a progress bar drew over: ten updates a second say no more than the last one.

    label 45%|████      | 720/1602 [2:12:45<2:59:53, 12.28s/it]

Updates of one bar with one clock, and nothing else, each drawn over the one before. Not of a bar
that has not begun, for it says when it does. A log may hold a million: they are found by the order
of their marks, as arrays, in a third of the time that an expression takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_MARKS = b"%||[<]"
_RETURN = ord("\r")
_LINE_ENDS = b"\r\n"
_MAX_LABEL, _MAX_CLOCK, _MAX_COUNT = 80, 20, 12
_MAX_PERCENT_DIGITS = 3
_IS_MARK = bytes(byte in _MARKS + _LINE_ENDS for byte in range(256))
_ENDS_LINE = np.isin(np.arange(256), list(_LINE_ENDS))


def without_redrawn_bars(data: bytes) -> bytes:
    """The same with nothing but returns where a bar was drawn anew in the same second."""
    if b"\r" not in data or b"%|" not in data:
        return data
    masked = bytearray(data)
    for begin, end in _drawn_over(data):
        masked[begin:end] = b"\r" * (end - begin)
    return bytes(masked)


def _drawn_over(data: bytes) -> Iterator[tuple[int, int]]:
    """Begins and ends of what was drawn over, and was a moment later."""
    # Windows may reach behind the end, which is not that of a line.
    padded = b"\n" + data + bytes(_MAX_LABEL)
    text = np.frombuffer(padded, np.uint8)
    marks = np.flatnonzero(np.frombuffer(padded.translate(_IS_MARK), np.bool_))
    updates = _updates(text, marks)
    if not len(updates):
        return
    start, percent, _, bar, opening, less, closing, end = (
        marks[updates + number] for number in range(len(_MARKS) + 2)
    )
    start = start + 1
    digits = _digits_before(text, start, percent)
    label = _windows(text, start, percent - digits - start, _MAX_LABEL)
    clock = _windows(text, opening + 1, less - opening - 1, _MAX_CLOCK)
    is_update = (percent - start - digits <= _MAX_LABEL) & (digits > 0) & _are_clocks(clock)
    is_update &= (less - opening - 1 <= _MAX_CLOCK) & (less > opening + 1)
    is_update &= ~_are_at_zero(text, bar, opening) & _are_blank(data, closing, end - 1)
    follows = (text[end[:-1]] == _RETURN) & (start[1:] == end[:-1] + 1)
    is_same = follows & is_update[:-1] & is_update[1:]
    is_same &= (label[1:] == label[:-1]).all(axis=1) & (clock[1:] == clock[:-1]).all(axis=1)
    edges = np.flatnonzero(np.diff(is_same, prepend=False, append=False))
    places = (start - 1)[edges].tolist()
    yield from zip(places[::2], places[1::2], strict=True)


def _updates(text: Any, marks: Any) -> Any:
    """Which of the marks is the line end before an update of a bar."""
    kinds, count = text[marks], len(marks) - len(_MARKS) - 1
    if count <= 0:
        return np.empty(0, np.int64)
    found = _ENDS_LINE[kinds[:count]] & _ENDS_LINE[kinds[len(_MARKS) + 1 :]]
    for number, mark in enumerate(_MARKS, 1):
        found &= kinds[number : number + count] == mark
    places = np.flatnonzero(found)
    return places[marks[places + 2] == marks[places + 1] + 1]


def _digits_before(text: Any, start: Any, percent: Any) -> Any:
    """How many digits stand before the percent signs, at most three."""
    count = np.zeros_like(percent)
    for back in range(1, _MAX_PERCENT_DIGITS + 1):
        byte = text[np.maximum(percent - back, start - 1)]
        count += _are_digits(byte) & (count == back - 1)
    return count


def _are_digits(text: Any) -> Any:
    return (text >= ord("0")) & (text <= ord("9"))


def _windows(text: Any, begin: Any, size: Any, most: int) -> Any:
    """What is there from some begins on, zeros behind their sizes."""
    width = max(1, min(int(size.max()), most))
    seen = np.lib.stride_tricks.sliding_window_view(text, width)[begin]
    shortest = int(size.min())
    if shortest < width:
        seen[np.arange(width) >= size[:, None]] = 0
    return seen


def _are_clocks(shown: Any) -> Any:
    return (_are_digits(shown) | (shown == ord(":")) | (shown == 0)).all(axis=1)


def _are_at_zero(text: Any, bar: Any, opening: Any) -> Any:
    """Whether the count behind the bar begins with 0/."""
    count = _windows(text, bar + 1, opening - bar - 1, _MAX_COUNT)
    first = np.argmax(count != ord(" "), axis=1)
    here = bar + 1 + first
    return (text[here] == ord("0")) & (text[here + 1] == ord("/"))


def _are_blank(data: bytes, begin: Any, end: Any) -> Any:
    are = begin == end
    for place in np.flatnonzero(begin < end).tolist():
        are[place] = not data[begin[place] : end[place]].strip(b" ")
    return are
