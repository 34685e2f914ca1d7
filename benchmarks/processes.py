"""Python modules in a process of their own, measured."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from dataclasses import dataclass

_THEN_TELL_PEAK = """
import runpy, sys
module, sys.argv = sys.argv[1], sys.argv[1:]
try:
    runpy.run_module(module, run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""


@dataclass(frozen=True)
class Use:
    """What one process used: seconds of a clock and of the CPU, and its largest memory in MB."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


def run_module(*words: str) -> Use:
    """Runs a module with its arguments to its end.

    The peak is its own VmHWM: what wait4() tells of a child is never less than its parent's.
    """
    started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", _THEN_TELL_PEAK, *words],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Use(seconds, cpu, int(done.stdout.split()[-1]) / 1024)
