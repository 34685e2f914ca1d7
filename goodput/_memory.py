"""How Python looks after memory while much is read."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

_LARGE = 8 << 20
# glibc's name for what it gives back, <malloc.h>, and what it is before glibc learns.
_M_TRIM_THRESHOLD, _SMALL = -1, 128 << 10


@cache
def keep_freed_blocks() -> None:
    """Lets glibc keep some megabytes of freed memory for its next use, in this process.

    It learns from the largest block that was freed. Else each array of a megabyte is memory that
    the kernel must find and clear anew: up to a tenth of the time that reading a log takes.
    """
    bytes(_LARGE)  # nothing is written to it


@cache
def give_freed_blocks_back() -> None:
    """Keeps glibc from learning to hold freed memory, in this process; elsewhere does nothing.

    What takes pages of some megabytes one after the other gains no time by it.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_M_TRIM_THRESHOLD, _SMALL)


@contextmanager
def without_cycle_search() -> Iterator[None]:
    """Stops the search for cycles: large trees hold none, and it takes up to half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
