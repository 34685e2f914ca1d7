"""How Python looks after memory and threads while much is read."""

from __future__ import annotations

import ctypes
import gc
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

_LARGE = 8 << 20
# glibc's name for what it gives back, <malloc.h>, and what it is before glibc learns.
_M_TRIM_THRESHOLD, _SMALL = -1, 128 << 10
# Linux's name for pages that are not needed now, <sys/mman.h>.
_MADV_DONTNEED = 4
_TURN_S = 1e-4
# A private mapping of a file that nobody can write to, and what is said of it, proc_pid_smaps(5).
_READ_ONLY = re.compile(
    r"^([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ \S+ [1-9]\d* .*\n((?:[A-Z]\w+:.*\n)+)",
    re.MULTILINE,
)
_OWN_PAGES = re.compile(r"^(?:Anonymous|Swap): +(\d+) kB$", re.MULTILINE)


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


@cache
def give_file_pages_back() -> None:
    """Lets go of the programs and libraries that this process has in memory, on Linux.

    What is used again comes back from the kernel's cache. Of DuckDB and others 16 MB do not: they
    were for loading and starting alone. Once a process, and before it has threads that work: what
    one of them loads meanwhile could be lost.
    """
    with suppress(AttributeError, OSError, TypeError):
        smaps, advise = Path("/proc/self/smaps"), ctypes.CDLL(None).madvise
        for start, end in _clean_mappings(smaps.read_text("utf-8", "replace")):
            advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_DONTNEED)


def _clean_mappings(smaps: str) -> Iterator[tuple[int, int]]:
    """Beginnings and ends of those that are as their file has them, so that nothing is lost.

    Into others the linker wrote before it locked them.
    """
    for start, end, fields in _READ_ONLY.findall(smaps):
        if _OWN_PAGES.findall(fields) == ["0", "0"]:
            yield int(start, 16), int(end, 16)


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


@contextmanager
def quick_turns() -> Iterator[None]:
    """Lets threads of Python take turns every tenth of a millisecond.

    One that comes back from DuckDB or the network waits until another has had its turn, 5 ms as
    Python starts, and a thread of many small statements does little else.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
