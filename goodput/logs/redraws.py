"""Leaves out what a progress bar drew over: ten updates a second say no more than the last one."""

from __future__ import annotations

import re

# Updates of one bar with one clock, and nothing else, each drawn over the one before; not of a bar
# that has not begun, for it says when it does. Bounded runs, or to the end of a line: linear time.
_UPDATE = rb"\d{1,3}%\|[^\r\n\[|]*\| *+(?!0/)[^\r\n\[]*\["
_REST = rb"<[^\r\n\]]*\] *"
_AGAIN = rb"(?:\r(?P<last>\1" + _UPDATE + rb"\2)" + _REST + rb")+(?=[\r\n])"
_REDRAWN = re.compile(
    rb"(?<![^\r\n])([^\r\n%|]{0,80}?)" + _UPDATE + rb"([\d:]{1,20})" + _REST + _AGAIN
)


def without_redrawn_bars(data: bytes) -> bytes:
    """The same with nothing but returns where a bar was drawn anew in the same second."""
    if b"\r" not in data or b"%|" not in data:
        return data
    masked = bytearray(data)
    for found in _REDRAWN.finditer(data):
        start, end = found.start(), found.start("last")
        masked[start:end] = b"\r" * (end - start)
    return bytes(masked)
